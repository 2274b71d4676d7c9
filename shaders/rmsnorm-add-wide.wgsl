// The work of rmsnorm-add.wgsl on GPUs, with many lanes a row.
#import "lib/gate.$GATE.wgsl"
#import "lib/rmsnorm-add-args.wgsl"
#import "lib/whole.$WHOLE.wgsl"
#import "lib/wide-squares.wgsl"

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row0 = workgroup.x * args.quads;
  var row = squared(row0, local);
  let rate = inverseSqrt(row.squares / f32(args.columns) + args.eps);
  for (var first = 0u; first < args.quads; first += TURN) {
    if (args.quads > TURN) {
      row.held = held_quads(row0, first, local);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = near_quad(first, j, local);
      row.held[j] = whole(y[row0 + i] + gated(row.held[j] * rate * weight[i], args.first_row + workgroup.x, i));
    }
    for (var j = 0u; j < HELD; j++) {
      let i = quad_at(first, j, local);
      if (i < args.quads) {
        y[row0 + i] = row.held[j];
      }
    }
  }
}
