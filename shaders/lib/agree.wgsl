// Reductions over a workgroup of WORKGROUP invocations. Sums have a fixed order, so that they are reproducible.
var<workgroup> values: array<f32, WORKGROUP>;
var<workgroup> tokens: array<u32, WORKGROUP>;
var<workgroup> agreed: Best;

struct Best {
  value: f32,
  token: u32,
}

// The largest value of the workgroup, with the lowest token among equals; the same for every invocation.
fn best_of(value: f32, token: u32, local: u32) -> Best {
  values[local] = value;
  tokens[local] = token;
  workgroupBarrier();
  if (local == 0u) {
    var best = Best(value, token);
    for (var i = 1u; i < WORKGROUP; i++) {
      if (values[i] > best.value || (values[i] == best.value && tokens[i] < best.token)) {
        best = Best(values[i], tokens[i]);
      }
    }
    agreed = best;
  }
  return workgroupUniformLoad(&agreed);
}

// Sums over the workgroup, in order; the same for every invocation.
fn sums_of(value: f32, count: u32, local: u32) -> Best {
  values[local] = value;
  tokens[local] = count;
  workgroupBarrier();
  if (local == 0u) {
    var sum = Best(0.0, 0u);
    for (var i = 0u; i < WORKGROUP; i++) {
      sum.value += values[i];
      sum.token += tokens[i];
    }
    agreed = sum;
  }
  return workgroupUniformLoad(&agreed);
}
