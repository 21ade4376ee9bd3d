// Runs in the page of `sortium report`: replaces each picture by an interactive plot when it
// comes near the screen.
'use strict';
(() => {
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const live = new Map();  // element -> chart and frame

  function show(element, which) {
    const figure = figures[element.id];
    const box = element.querySelector('.live');
    const known = live.get(element);
    if (which === undefined)
      which = known ? known.which : figure.frames ? figure.frames.length - 1 : 0;
    element.classList.add('is-live');
    const {option, height} = charts.draw(figure, charts.palette, box.clientWidth, which);
    box.style.height = height + 'px';
    // Create it anew: a visible tooltip would refer to its old plot.
    if (known) known.chart.dispose();
    const chart = echarts.init(box, null, {renderer: 'svg'});
    chart.setOption(option);
    live.set(element, {chart, which, width: box.clientWidth});
  }

  const near = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      show(entry.target);
    }
  }, {rootMargin: '400px'});

  for (const [id, figure] of Object.entries(figures)) {
    const element = document.getElementById(id);
    near.observe(element);
    if (!figure.frames || figure.frames.length < 2) continue;
    const choice = document.createElement('select');
    choice.setAttribute('aria-label', 'Number of records');
    figure.frames.forEach(
        (frame, i) =>
            choice.add(new Option(frame.label, i, false, i === figure.frames.length - 1)));
    choice.addEventListener('change', () => show(element, +choice.value));
    element.querySelector('figcaption').append(choice);
  }

  let waiting = 0;
  addEventListener('resize', () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      for (const [element, known] of live)
        if (element.querySelector('.live').clientWidth !== known.width) show(element);
    });
  });

  // Tables cannot be opened on paper: print them open.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    for (const d of opened) d.open = true;
  });
  addEventListener('afterprint', () => {
    for (const d of opened) d.open = false;
  });
})();
