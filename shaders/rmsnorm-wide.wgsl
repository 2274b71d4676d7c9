// The work of rmsnorm.wgsl on GPUs, with many lanes a row.
#import "lib/norm-args.wgsl"
#import "lib/pick.$PICK.wgsl"
#import "lib/modulate.$MODULATE.wgsl"
#import "lib/affine.$AFFINE.wgsl"
#import "lib/wide-squares.wgsl"

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let source = picked(workgroup.x);
  if (WINDOWED && source >= args.source_rows) {
    return;
  }
  let x0 = source * args.quads;
  let y0 = workgroup.x * args.quads;
  var row = squared(x0, local);
  let rate = inverseSqrt(row.squares / f32(args.columns) + args.eps);
  for (var first = 0u; first < args.quads; first += TURN) {
    if (args.quads > TURN) {
      row.held = held_quads(x0, first, local);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = near_quad(first, j, local);
      row.held[j] = modulate(affine(row.held[j] * rate, i), args.first_row + workgroup.x, i);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = quad_at(first, j, local);
      if (i < args.quads) {
        y[y0 + i] = row.held[j];
      }
    }
  }
}
