// The router of AltUp: four numbers of a row, tanh of its products with a matrix [4, columns] under an RMSNorm, divided by the columns. The kernel
// has `routed_quad(i)`, the row's quads, and args.quads and args.eps.
#import "lib/four-sums.wgsl"

@group(0) @binding(0) var<storage, read> router_norm: array<vec4f>;
@group(0) @binding(1) var<storage, read> router: array<vec4f>;

fn routed(local: u32) -> vec4f {
  var squares = 0.0;
  var dots = vec4f(0.0);
  for (var i = local; i < args.quads; i += LANES) {
    let v = routed_quad(i);
    squares += dot(v, v);
    let scaled = v * router_norm[i];
    dots += vec4f(
      dot(scaled, router[i]),
      dot(scaled, router[args.quads + i]),
      dot(scaled, router[2u * args.quads + i]),
      dot(scaled, router[3u * args.quads + i]),
    );
  }
  let columns = 4.0 * f32(args.quads);
  let mean = sums_of_lanes(vec4f(squares, 0.0, 0.0, 0.0), local).x / columns;
  let logits = sums_of_lanes(dots, local) * inverseSqrt(mean + args.eps) / columns;
  // Beyond ±10 tanh is 1 in f32, and some drivers' tanh overflows.
  return tanh(clamp(logits, vec4f(-10.0), vec4f(10.0)));
}
