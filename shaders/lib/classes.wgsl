// A row's tokens in classes by their number modulo CLASSES, a workgroup each. Sums of weights have the order of sample.wgsl with as many
// invocations: those of a class by rising tokens, then those of the classes. The cut is thereby the same to the bit.
const CLASSES = 64u; // a multiple of 8

// Index of the first of the WORKGROUP entries of a class.
fn entries_of(row: u32, class_number: u32) -> u32 {
  return (row * CLASSES + class_number) * WORKGROUP;
}
