// A row of x over the LANES lanes of a workgroup, on GPUs: each lane loads four quads before it uses any, and keeps them where the row has no
// more. The order of a sum depends on LANES and the row's width, and no subgroups are needed.
const LANES = 256u; // 64, 128 or 256
const HELD = 4u;
const TURN = LANES * HELD; // quads of a row that the lanes hold at once

var<workgroup> partial: array<f32, LANES>;
var<workgroup> sixteenths: array<f32, 16>;

alias Held = array<vec4f, HELD>;

// Quad j of a lane among those of a turn that begins at `first`.
fn quad_at(first: u32, j: u32, local: u32) -> u32 {
  return first + j * LANES + local;
}

// A lane's quads of the row that begins at row0; zeros beyond its end.
fn held_quads(row0: u32, first: u32, local: u32) -> Held {
  var held = Held();
  for (var j = 0u; j < HELD; j++) {
    held[j] = select(vec4f(0.0), x[row0 + near_quad(first, j, local)], quad_at(first, j, local) < args.quads);
  }
  return held;
}

// Quad j of a lane, or the row's last one beyond its end: what is read there is not used, and no branch parts the loads of a lane.
fn near_quad(first: u32, j: u32, local: u32) -> u32 {
  return min(quad_at(first, j, local), args.quads - 1u);
}

fn sum_of_lanes(value: f32, local: u32) -> f32 {
  partial[local] = value;
  workgroupBarrier();
  if (local < 16u) {
    var sum = 0.0;
    for (var i = local; i < LANES; i += 16u) {
      sum += partial[i];
    }
    sixteenths[local] = sum;
  }
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < 16u; i++) {
    sum += sixteenths[i];
  }
  return sum;
}
