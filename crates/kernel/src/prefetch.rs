//! Hints to the processor.

/// Lets the processor fetch `value`, which is wanted soon, while it does something else: for a table larger than its
/// caches it would have to wait. Changes nothing else; does nothing on processors other than x86-64.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
