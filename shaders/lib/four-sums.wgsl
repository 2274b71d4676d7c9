// Four sums over the lanes of a workgroup, added in an order that follows from LANES alone. A row's lanes may call it several times.
const LANES = 32u;
const SHARES = 16u; // sums of lanes that are added up before the last

var<workgroup> partial: array<vec4f, LANES>;
var<workgroup> shares: array<vec4f, SHARES>;

fn sums_of_lanes(value: vec4f, local: u32) -> vec4f {
  partial[local] = value;
  workgroupBarrier();
  if (local < SHARES) {
    var sum = vec4f(0.0);
    for (var i = local; i < LANES; i += SHARES) {
      sum += partial[i];
    }
    shares[local] = sum;
  }
  workgroupBarrier();
  var sum = vec4f(0.0);
  for (var i = 0u; i < SHARES; i++) {
    sum += shares[i];
  }
  return sum;
}
