//! Prefetch hints to the processor.

/// Prefetches `value`, which is needed soon, into the processor's caches. Use it for tables larger than these
/// caches. It has no other effect, and does nothing on processors other than x86-64.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
