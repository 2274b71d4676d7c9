// The parameters of xIELU are arguments: those of positive and of negative inputs before their softplus, beta, eps.
fn parameters() -> vec4f {
  return vec4f(args.positive, args.negative, args.beta, args.eps);
}
