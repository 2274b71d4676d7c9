// Zeros in the columns of a row of y that no head has, so that products of whole blocks read numbers there.
fn clear_padding(row: u32, head_quads: u32, lane: u32, lanes: u32) {
  for (var quad = args.heads * head_quads + lane; quad < args.y_quads; quad += lanes) {
    y[row * args.y_quads + quad] = vec4f(0.0);
  }
}
