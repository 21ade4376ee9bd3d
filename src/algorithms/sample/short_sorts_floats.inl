// Included by short_sorts_*.cpp in their unnamed namespaces, so that it is compiled for the
// instructions of each. It uses their sort() and partition().

// Calls work() with the processor's defaults for floats, whatever the caller's thread has set. With
// them, denormal numbers differ from zero, and comparisons trap no exception.
template <class Work>
void with_defaults(const Work& work) {
  const unsigned control = _mm_getcsr();
  _mm_setcsr((control & ~unsigned{_MM_DENORMALS_ZERO_MASK}) | _MM_MASK_MASK);
  work();
  _mm_setcsr(control);
}
template <class Float>
void sort_floats(Float* floats, std::size_t count) {
  with_defaults([&] { sort(floats, count); });
}
template <class Float>
std::size_t partition_floats(Float* floats, std::size_t count, Float pivot) {
  std::size_t below = 0;
  with_defaults([&] { below = partition(floats, count, pivot); });
  return below;
}
