// The squares of four lanes, each of a line by itself.
alias Squares = vec4f;

fn squares(v: vec4f) -> Squares {
  return v * v;
}
