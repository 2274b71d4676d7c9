// The work of rmsnorm-columns.wgsl on GPUs, with many lanes a row.
#import "lib/columns-sum.$ADDEND.wgsl"
#import "lib/rmsnorm-columns-args.wgsl"
#import "lib/wide-squares.wgsl"

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row0 = workgroup.x * args.stride + args.first;
  var row = squared(row0, local);
  let rate = inverseSqrt(row.squares / f32(4u * args.quads) + args.eps);
  for (var first = 0u; first < args.quads; first += TURN) {
    if (args.quads > TURN) {
      row.held = held_quads(row0, first, local);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = near_quad(first, j, local);
      row.held[j] = row.held[j] * (rate * weight[i]) + addend_at(row0 + i);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = quad_at(first, j, local);
      if (i < args.quads) {
        x[row0 + i] = row.held[j];
      }
    }
  }
}
