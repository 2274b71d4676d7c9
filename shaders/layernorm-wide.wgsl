// The work of layernorm.wgsl on GPUs, with many lanes a row.
#import "lib/affine.$AFFINE.wgsl"
#import "lib/inside.wgsl"
#import "lib/modulate.$MODULATE.wgsl"
#import "lib/norm-args.wgsl"
#import "lib/pick.$PICK.wgsl"
#import "lib/wide-row.wgsl"

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let source = picked(workgroup.x);
  if (WINDOWED && source >= args.source_rows) {
    return;
  }
  let x0 = source * args.quads;
  let y0 = workgroup.x * args.quads;
  let is_held = args.quads <= TURN;
  var held = held_quads(x0, 0u, local);
  var sum = 0.0;
  for (var first = 0u; first < args.quads; first += TURN) {
    if (!is_held) {
      held = held_quads(x0, first, local);
    }
    for (var j = 0u; j < HELD; j++) {
      sum += (held[j].x + held[j].y) + (held[j].z + held[j].w);
    }
  }
  let mean = sum_of_lanes(sum, local) / f32(args.columns);
  var squares = 0.0;
  for (var first = 0u; first < args.quads; first += TURN) {
    if (!is_held) {
      held = held_quads(x0, first, local);
    }
    for (var j = 0u; j < HELD; j++) {
      let v = inside(held[j] - mean, quad_at(first, j, local));
      squares += dot(v, v);
    }
  }
  let rate = inverseSqrt(sum_of_lanes(squares, local) / f32(args.columns) + args.eps);
  for (var first = 0u; first < args.quads; first += TURN) {
    if (!is_held) {
      held = held_quads(x0, first, local);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = near_quad(first, j, local);
      held[j] = inside(modulate(affine((held[j] - mean) * rate, i), args.first_row + workgroup.x, i), i);
    }
    for (var j = 0u; j < HELD; j++) {
      let i = quad_at(first, j, local);
      if (i < args.quads) {
        y[y0 + i] = held[j];
      }
    }
  }
}
