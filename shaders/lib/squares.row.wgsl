// The squares of four lanes of one line, added.
alias Squares = f32;

fn squares(v: vec4f) -> Squares {
  return dot(v, v);
}
