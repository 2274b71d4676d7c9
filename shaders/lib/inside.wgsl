// Sets the columns that pad a row to zero.
fn inside(v: vec4f, quad: u32) -> vec4f {
  return select(vec4f(0.0), v, vec4u(4u * quad) + vec4u(0u, 1u, 2u, 3u) < vec4u(args.columns));
}
