// libvirt and GLib are not built with ThreadSanitizer, which then misses how they synchronise. What our
// callbacks do in libvirt's threads is tested with the fake hypervisor, too, where nothing is passed over.
extern "C" __attribute__((visibility("default"))) const char*
__tsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier): the sanitizer's name

extern "C" __attribute__((visibility("default"))) const char*
__tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:libglib-2.0.so\nrace:libvirt.so\nmutex:libvirt.so\n";
}
