// Modulates the norm: times 1 + scale, plus shift, of the row's item.
#import "lib/inside.wgsl"

@group(0) @binding(6) var<storage, read> scale: array<vec4f>;
@group(0) @binding(7) var<storage, read> shift: array<vec4f>;

fn modulate(v: vec4f, row: u32, quad: u32) -> vec4f {
  let item = row / args.item_rows;
  let scaled = v * (1.0 + scale[item * args.scale_quads + args.scale_first + quad]);
  return inside(scaled + shift[item * args.shift_quads + args.shift_first + quad], quad);
}
