// Every row is a token; none is an input embedding.
fn is_input(source: u32) -> bool {
  return false;
}

fn input_quad(source: u32, quad: u32) -> vec4f {
  return vec4f(0.0);
}
