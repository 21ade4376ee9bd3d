// The figures of `sortium report` as options of Apache ECharts. The program runs this file to
// draw the pictures in the page and in SVG files (in Duktape, which supports ECMAScript 5).
// The page runs it again to draw interactive plots.
//
// A figure is {kind, title, about, unit, ...}; its other members are described at the
// function that draws its kind. A series is {name, style, peer, points: [[x, y, wrong,
// details], ...], lost: [[x, why], ...]}: `details` are lines of the tooltip, `lost` are
// failed sorts.
'use strict';

var charts = (function() {
  var shapes = ['circle', 'rect', 'triangle', 'diamond'];
  var cross = 'path://M0 0L2 0L5 3L8 0L10 0L6 5L10 10L8 10L5 7L2 10L0 10L4 5Z';
  // ECharts writes it into attributes unescaped: no quotation marks.
  var font = 'system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif';

  // Colours that people with the common colour blindnesses can distinguish, on white and on
  // black. Symbols and dashes carry the same information.
  var themes = {
    light: {
      ink: '#1d2530',
      muted: '#5d6876',
      grid: '#dde1e6',
      surface: '#ffffff',
      back: '#f4f6f8',
      bad: '#c0152f',
      colours:
          ['#0072b2', '#d55e00', '#009e73', '#c45a9b', '#b98200', '#3d9fe0', '#8c564b', '#7d7d7d']
    },
    dark: {
      ink: '#e8ebef',
      muted: '#a3adb9',
      grid: '#39414b',
      surface: '#1b2027',
      back: '#12161b',
      bad: '#ff6b7d',
      colours:
          ['#4ea5e6', '#ff8a3d', '#2cc295', '#e893c6', '#f0b93a', '#9bd4ff', '#c99488', '#a8a8a8']
    }
  };
  // In a page, colours are variables, so that pictures follow the theme without being
  // redrawn.
  var variables = {
    titled: false,
    colours: themes.light.colours.map(function(unused, i) { return 'var(--colour' + i + ')'; })
  };
  Object.keys(themes.light).forEach(function(name) {
    if (name !== 'colours') variables[name] = 'var(--' + name + ')';
  });
  var paper = {titled: true};
  Object.keys(themes.light).forEach(function(name) { paper[name] = themes.light[name]; });

  function superscript(n) {
    return String(n).replace(/\d/g, function(d) { return '⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(+d); });
  }
  function log2(n) { return Math.log(n) / Math.LN2; }
  function records(n) {
    var e = log2(n);
    if (Math.abs(e - Math.round(e)) < 1e-9) return '2' + superscript(Math.round(e));
    return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
  }
  function digits(x) {
    if (x === 0) return '0';
    var places = Math.max(0, 2 - Math.floor(Math.log(Math.abs(x)) / Math.LN10 + 1e-9));
    return x.toFixed(Math.min(places, 12)).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  }
  var scales = [
    [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']
  ];
  function quantity(x, unit) {
    if (unit === '×') return digits(x) + '\u00a0×';
    for (var i = 0; i < scales.length; ++i)
      if (x >= scales[i][0] * 0.9999999)
        return digits(x / scales[i][0]) + '\u00a0' + scales[i][1] + unit;
    return digits(x) + '\u00a0' + unit;
  }
  function escape(text) {
    return String(text)
        .replace(/&/g, '&amp;')
        .replace(/</g, '&lt;')
        .replace(/>/g, '&gt;')
        .replace(/"/g, '&quot;');
  }

  function colour(palette, style) {
    return style < 0 ? palette.ink : palette.colours[style % palette.colours.length];
  }
  // When the colours repeat, the symbols change and are hollow.
  function round(style) { return style < 0 ? 0 : Math.floor(style / themes.light.colours.length); }
  function shape(style) {
    return style < 0 ? 'circle' : shapes[(style + round(style)) % shapes.length];
  }

  // Returns the number of rows of a legend with these names, to reserve space for it.
  function legendRows(names, width) {
    var rows = 1, used = 0;
    names.forEach(function(name) {
      var w = name.length * 6.8 + 44;
      if (used > 0 && used + w > width) {
        rows += 1;
        used = 0;
      }
      used += w;
    });
    return rows;
  }

  function swatch(style, palette) {
    return '<i style="background:' + colour(palette, style) + '"></i>';
  }
  function tooltip(f, palette, more) {
    var t = {
      className: 'tip',
      backgroundColor: palette.surface,
      borderColor: palette.grid,
      padding: [8, 10],
      textStyle: {color: palette.ink, fontFamily: font, fontSize: 12},
      // Beside the pointer; below the plot if there is no space, as on a phone.
      position: function(point, unused, element, rect, size) {
        var box = size.contentSize, view = size.viewSize;
        if (point[0] + 20 + box[0] <= view[0]) return [point[0] + 20, f.option.grid.top];
        if (point[0] - 20 - box[0] >= 0) return [point[0] - 20 - box[0], f.option.grid.top];
        return [Math.max(0, (view[0] - box[0]) / 2), f.option.grid.top + f.option.grid.height + 22];
      }
    };
    for (var key in more) t[key] = more[key];
    return t;
  }
  function detailed(heading, value, details) {
    var text = '<b>' + heading + '</b><br>' + value;
    (details || []).forEach(function(d) {
      text += '<br><span>' + escape(d[0]) + ':</span> ' + escape(d[1]).replace(/,/g, ',\u200b');
    });
    return text;
  }

  function axis(palette, more) {
    var a = {
      axisLine: {show: true, lineStyle: {color: palette.muted}},
      axisTick: {lineStyle: {color: palette.muted}},
      splitLine: {show: true, lineStyle: {color: palette.grid}},
      axisLabel: {color: palette.muted, fontFamily: font, fontSize: 12, hideOverlap: true},
      nameTextStyle: {color: palette.muted, fontFamily: font, fontSize: 12}
    };
    for (var key in more) {
      if (key !== 'axisLabel') {
        a[key] = more[key];
        continue;
      }
      for (var word in more.axisLabel) a.axisLabel[word] = more.axisLabel[word];
    }
    return a;
  }

  // Options that all kinds share. `plot` is the height of the plot itself, `swatches` the
  // width of the legend's swatches.
  function frame(figure, palette, width, names, plot, swatches, about) {
    var rows = legendRows(names, width - 16), top = palette.titled ? 80 : 28,
        bottom = rows * 23 + 50;
    var option = {
      animation: false,
      backgroundColor: palette.titled ? palette.surface : 'transparent',
      textStyle: {fontFamily: font, color: palette.ink},
      aria: {enabled: true, label: {description: figure.title + '. ' + figure.about}},
      grid: {right: 26, top: top, height: plot},
      legend: {
        data: names,
        top: top + plot + 44,
        left: 8,
        right: 8,
        itemWidth: swatches,
        itemHeight: 9,
        itemGap: 12,
        textStyle: {color: palette.ink, fontFamily: font, fontSize: 12},
        inactiveColor: palette.grid,
        inactiveBorderColor: palette.grid
      }
    };
    if (palette.titled)
      option.title = {
        text: figure.title,
        subtext: figure.about + (about ? ' · ' + about : ''),
        left: 10,
        top: 8,
        itemGap: 4,
        textStyle: {color: palette.ink, fontFamily: font, fontSize: 15, fontWeight: 600},
        subtextStyle: {color: palette.muted, fontFamily: font, fontSize: 12}
      };
    return {option: option, height: top + plot + bottom};
  }

  function lineSeries(s, palette, connected) {
    var c = colour(palette, s.style), strong = s.style < 0, hollow = round(s.style) % 2 === 1,
        fill = hollow ? palette.surface : c;
    return {
      name: s.name,
      type: connected ? 'line' : 'scatter',
      data: s.points.map(function(p) {
        var point = {value: connected ? [log2(p[0]), p[1]] : [p[1], p[0]], details: p[3]};
        if (p[2]) {
          point.symbol = cross;
          point.symbolSize = 12;
          point.itemStyle = {color: palette.bad, borderWidth: 0};
        }
        return point;
      }),
      symbol: shape(s.style),
      symbolSize: connected ? 7 : 10,
      showAllSymbol: true,
      z: strong ? 4 : 3,
      lineStyle: {color: c, width: strong ? 3 : 1.75, type: s.peer ? 'dashed' : 'solid'},
      itemStyle: {color: fill, borderColor: c, borderWidth: hollow ? 1.75 : 0, opacity: 1},
      emphasis: {
        focus: 'series',
        lineStyle: {color: c, width: strong ? 3 : 1.75},
        itemStyle: {color: fill, borderColor: c}
      },
      blur: {lineStyle: {opacity: 0.15}, itemStyle: {opacity: 0.15}}
    };
  }

  function hasPoints(s) { return s.points.length > 0; }
  function range(series) {
    var low = Infinity, high = -Infinity;
    series.forEach(function(s) {
      s.points.forEach(function(p) {
        low = Math.min(low, p[1]);
        high = Math.max(high, p[1]);
      });
    });
    return {low: low, high: high};
  }

  // Failed sorts, at the foot of the plot.
  function lostSeries(series, palette, offset, at) {
    var data = [];
    series.forEach(function(s) {
      s.lost.forEach(function(l) { data.push({value: at(l[0]), who: s.name, why: l[1]}); });
    });
    return data.length === 0 ? [] : [{
      name: 'failed',
      type: 'scatter',
      data: data,
      symbol: cross,
      symbolSize: 11,
      symbolOffset: offset,
      itemStyle: {color: palette.bad},
      emphasis: {itemStyle: {color: palette.bad}},
      z: 5
    }];
  }

  // Rates or ratios by the number of records: {log, marks: [{name, value}], series}.
  function lines(figure, palette, width) {
    var drawn = figure.series.filter(hasPoints), names = drawn.map(function(s) { return s.name; });
    var anyLost = figure.series.some(function(s) { return s.lost.length > 0; });
    figure.marks.forEach(function(m) { names.push(m.name); });
    if (anyLost) names.push('failed');
    var f = frame(figure, palette, width, names, width < 560 ? 300 : 360, 22), o = f.option;
    var low = range(figure.series).low,
        floor = figure.log ? Math.pow(10, Math.floor(Math.log(low) / Math.LN10 + 1e-9)) : 0;
    if (!isFinite(floor)) floor = 1;
    var sizes = [];
    figure.series.forEach(function(
        s) { s.points.concat(s.lost).forEach(function(p) { sizes.push(p[0]); }); });
    o.grid.left = 62;
    // ECharts' logarithmic axis labels only powers of 1024: use the exponents as the axis.
    var first = Math.floor(log2(Math.min.apply(null, sizes)) + 1e-9),
        last = Math.ceil(log2(Math.max.apply(null, sizes)) - 1e-9);
    var step = 1;
    while ((last - first) / step * 34 > width - 90) step *= 2;
    first = Math.floor(first / step) * step;
    last = Math.max(Math.ceil(last / step) * step, first + step);
    o.xAxis = axis(palette, {
      type: 'value',
      min: first,
      max: last,
      interval: step,
      name: 'records',
      nameLocation: 'middle',
      nameGap: 26,
      axisLabel: {formatter: function(e) { return records(Math.pow(2, e)); }},
      splitLine: {show: false}
    });
    o.yAxis = axis(palette, {
      type: figure.log ? 'log' : 'value',
      logBase: 10,
      min: floor,
      name: figure.unit === '×' ? 'times the best peer' : 'keys per second',
      nameTextStyle: {
        color: palette.muted,
        fontFamily: font,
        fontSize: 12,
        align: 'left',
        padding: [0, 0, 0, -50]
      },
      axisLabel: {
        formatter: function(
            v) { return quantity(v, figure.unit === '×' ? '×' : '').replace(/\u00a0$/, ''); }
      }
    });
    o.series = drawn.map(function(s) { return lineSeries(s, palette, true); });
    figure.marks.forEach(function(m) {
      o.series.push({
        name: m.name,
        type: 'line',
        data: [[first, m.value], [last, m.value]],
        symbol: 'none',
        z: 2,
        silent: true,
        lineStyle: {color: palette.muted, width: 1.5, type: 'dotted'},
        itemStyle: {color: palette.muted},
        tooltip: {show: false}
      });
    });
    o.series = o.series.concat(lostSeries(figure.series, palette, [0, -8], function(x) {
      return [log2(x), floor];
    }));
    o.tooltip = tooltip(f, palette, {
      trigger: 'axis',
      axisPointer:
          {type: 'line', snap: true, lineStyle: {color: palette.muted}, label: {show: false}},
      formatter: function(items) {
        var rows = [], n = Math.round(Math.pow(2, items[0].axisValue));
        figure.series.forEach(function(s) {
          s.points.forEach(function(p) {
            if (p[0] === n) rows.push([p[1], s, p]);
          });
        });
        rows.sort(function(a, b) { return b[0] - a[0]; });
        if (rows.length === 1)
          return detailed(
              records(n) + ' records, ' + escape(rows[0][1].name),
              quantity(rows[0][0], figure.unit), rows[0][2][3]);
        var text = '<b>' + records(n) + ' records</b><table>';
        rows.forEach(function(r) {
          text += '<tr><td>' + swatch(r[1].style, palette) + escape(r[1].name) + '</td><td><b>' +
              quantity(r[0], figure.unit) + '</b></td><td class="more">' + escape(r[2][3][0][1]) +
              (r[2][2] ? ' WRONG' : '') + '</td></tr>';
        });
        figure.marks.forEach(function(m) {
          if (figure.unit !== '×')
            text += '<tr><td>' + escape(m.name) + '</td><td>' + quantity(m.value, figure.unit) +
                '</td><td></td></tr>';
        });
        figure.series.forEach(function(s) {
          s.lost.forEach(function(l) {
            if (l[0] === n)
              text += '<tr><td>' + escape(s.name) + '</td><td colspan="2">failed: ' + escape(l[1]) +
                  '</td></tr>';
          });
        });
        return text + '</table>';
      }
    });
    return f;
  }

  // Rates by categories: {frames: [{label, categories, series}]}; x of a point is its
  // category.
  function dots(figure, palette, width, which) {
    var shown = figure.frames[which];
    var drawn = shown.series.filter(hasPoints), names = drawn.map(function(s) { return s.name; });
    if (shown.series.some(function(s) { return s.lost.length > 0; })) names.push('failed');
    var f = frame(figure, palette, width, names, shown.categories.length * 26 + 20, 9, shown.label),
        o = f.option;
    var rates = range(shown.series), log = rates.high > 30 * rates.low;
    var floor = log ? Math.pow(10, Math.floor(Math.log(rates.low) / Math.LN10 + 1e-9)) : 0;
    var longest = Math.max.apply(null, shown.categories.map(function(c) { return c.length; }));
    o.grid.left = Math.min(longest * 7 + 18, width * 0.45);
    o.xAxis = axis(palette, {
      type: log ? 'log' : 'value',
      min: isFinite(floor) ? floor : 0,
      name: 'keys per second',
      nameLocation: 'middle',
      nameGap: 26,
      splitNumber: width < 560 ? 3 : 5,
      axisLabel: {formatter: function(v) { return quantity(v, '').replace(/\u00a0$/, ''); }}
    });
    o.yAxis = axis(palette, {
      type: 'category',
      inverse: true,
      data: shown.categories,
      axisTick: {show: false},
      axisLine: {show: false},
      axisLabel: {
        interval: 0,
        color: palette.ink,
        width: o.grid.left - 12,
        overflow: 'truncate',
        hideOverlap: false
      }
    });
    o.series = drawn.map(function(s) { return lineSeries(s, palette, false); })
                   .concat(lostSeries(shown.series, palette, [8, 0], function(x) {
                     return [floor, x];
                   }));
    o.tooltip = tooltip(f, palette, {
      trigger: 'item',
      position: function(point, unused, element, rect, size) {
        return [
          Math.max(
              0,
              Math.min(point[0] - size.contentSize[0] / 2, size.viewSize[0] - size.contentSize[0])),
          point[1] + 16
        ];
      },
      formatter: function(item) {
        var row = shown.categories[item.value[1]];
        if (item.data.why !== undefined)
          return '<b>' + escape(item.data.who) + ', ' + escape(row) +
              '</b><br>failed: ' + escape(item.data.why);
        return detailed(
            escape(item.seriesName) + ', ' + escape(row), quantity(item.value[0], figure.unit),
            item.data.details);
      }
    });
    return f;
  }

  // The phases of a sort: {frames: [{label, categories, series: [{name, style, values:
  // [[seconds, launches], ...]}]}]}. They are shown as shares, because the times of
  // algorithms may differ by a factor of 1000; the times are beside the names.
  function stacks(figure, palette, width, which) {
    var shown = figure.frames[which];
    var totals = shown.categories.map(function(
        unused,
        i) { return shown.series.reduce(function(sum, s) { return sum + s.values[i][0]; }, 0); });
    var labels =
        shown.categories.map(function(c, i) { return c + '  ' + quantity(totals[i], 's'); });
    var f = frame(
            figure, palette, width, shown.series.map(function(s) { return s.name; }),
            labels.length * 34 + 20, 14, shown.label),
        o = f.option;
    var longest = Math.max.apply(null, labels.map(function(c) { return c.length; }));
    o.grid.left = Math.min(longest * 7 + 18, width * 0.45);
    o.xAxis = axis(palette, {
      type: 'value',
      min: 0,
      max: 1,
      name: 'share of the time',
      nameLocation: 'middle',
      nameGap: 26,
      splitNumber: width < 560 ? 2 : 5,
      axisLabel: {formatter: function(v) { return Math.round(100 * v) + ' %'; }}
    });
    o.yAxis = axis(palette, {
      type: 'category',
      inverse: true,
      data: labels,
      axisTick: {show: false},
      axisLine: {show: false},
      splitLine: {show: false},
      axisLabel: {
        interval: 0,
        color: palette.ink,
        width: o.grid.left - 12,
        overflow: 'truncate',
        hideOverlap: false
      }
    });
    o.series = shown.series.map(function(s) {
      var c = colour(palette, s.style);
      return {
        name: s.name,
        type: 'bar',
        stack: 'time',
        barMaxWidth: 22,
        data:
            s.values.map(function(v, i) { return {value: totals[i] > 0 ? v[0] / totals[i] : 0}; }),
        itemStyle: {color: c, borderColor: palette.surface, borderWidth: 1},
        emphasis: {itemStyle: {color: c, borderColor: palette.ink}}
      };
    });
    o.tooltip = tooltip(f, palette, {
      trigger: 'axis',
      axisPointer: {type: 'none'},
      formatter: function(items) {
        var row = items[0].dataIndex;
        var text = '<b>' + escape(shown.categories[row]) + ', ' + quantity(totals[row], 's') +
            '</b><table>';
        shown.series.forEach(function(s) {
          var v = s.values[row];
          if (v[0] > 0)
            text += '<tr><td>' + swatch(s.style, palette) + escape(s.name) + '</td><td><b>' +
                quantity(v[0], 's') + '</b></td><td>' + digits(100 * v[0] / totals[row]) +
                ' %</td><td class="more">' + v[1] + (v[1] === 1 ? ' launch' : ' launches') +
                '</td></tr>';
        });
        return text + '</table>';
      }
    });
    return f;
  }

  var kinds = {lines: lines, dots: dots, stacks: stacks};

  // Returns {option, height} of a figure of this width. `which` selects one of its frames
  // (default: the last).
  function draw(figure, palette, width, which) {
    if (which === undefined && figure.frames) which = figure.frames.length - 1;
    return kinds[figure.kind](figure, palette, width, which);
  }

  // Returns the picture as SVG, for a file or to embed in the page. A page has many: inner
  // names begin with `id`.
  function svg(figureText, forFile, width, id) {
    var drawn = draw(JSON.parse(figureText), forFile === 'yes' ? paper : variables, +width);
    // The font is unknown: use the widths of a wide one, so that texts do not overlap.
    // (ECharts also measures a Chinese character, to get the height of a line.)
    echarts.setPlatformAPI({
      measureText: function(words, style) {
        var size = parseFloat((/([\d.]+)px/.exec(style || '') || [0, 12])[1]), ems = 0;
        for (var i = 0; i < words.length; ++i)
          ems += words.charCodeAt(i) >= 0x2e80                     ? 1 :
              ' .,:;il1|\'()[]fjrt-'.indexOf(words.charAt(i)) >= 0 ? 0.42 :
                                                                     0.65;
        return {width: size * ems};
      }
    });
    var chart =
        echarts.init(null, null, {renderer: 'svg', ssr: true, width: +width, height: drawn.height});
    chart.setOption(drawn.option);
    var text = chart.renderToSVGString();
    chart.dispose();
    return text.replace(/\bzr\d+-/g, id + '-');
  }

  // Returns the colours as CSS. Print is on white.
  function css() {
    function declarations(theme) {
      var text = '';
      Object.keys(theme).forEach(function(name) {
        if (name !== 'colours') text += '--' + name + ':' + theme[name] + ';';
      });
      theme.colours.forEach(function(c, i) { text += '--colour' + i + ':' + c + ';'; });
      return text;
    }
    return ':root{' + declarations(themes.light) +
        '}\n@media screen and (prefers-color-scheme:dark){:root{' + declarations(themes.dark) +
        '}}\n';
  }

  return {draw: draw, svg: svg, css: css, palette: variables};
})();
