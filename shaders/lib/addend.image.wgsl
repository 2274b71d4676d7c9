// Adds the bias and a vector per image to a pixel.
@group(0) @binding(5) var<storage, read> bias: array<vec4f>;
@group(0) @binding(6) var<storage, read> per_image: array<vec4f>;

fn addend(image: u32, quad: u32) -> vec4f {
  let v = bias[quad];
  if (4u * quad >= args.columns) { // columns that follow may belong to another tensor
    return v;
  }
  return v + per_image[image * args.image_quads + args.image_first + quad];
}
