// Divides K among SPLITS parts of a workgroup; the parts' sums are added in order.
var<workgroup> parts: array<vec4f, COLUMN_LANES * SPLITS>;

fn sum_splits(acc: vec4f, local: u32, split: u32) -> vec4f {
  if (SPLITS == 1u) {
    return acc;
  }
  parts[local] = acc;
  workgroupBarrier();
  var sum = parts[local % COLUMN_LANES];
  for (var s = 1u; s < SPLITS; s++) {
    sum += parts[local % COLUMN_LANES + s * COLUMN_LANES];
  }
  workgroupBarrier();
  return sum;
}
