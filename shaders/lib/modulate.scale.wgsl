// Modulates the norm: times 1 + scale of the row's item.
#import "lib/inside.wgsl"

@group(0) @binding(6) var<storage, read> scale: array<vec4f>;

fn modulate(v: vec4f, row: u32, quad: u32) -> vec4f {
  let item = row / args.item_rows;
  return inside(v * (1.0 + scale[item * args.scale_quads + args.scale_first + quad]), quad);
}
