// Pages of 32 tokens in codes: a word holds WORD_DIMS dimensions of a token. Keys lie [page][head][word][token], values
// [page][head][token / 4][word][four tokens]; behind the codes of a head lie the factors of its tokens, the upper halves of f32, two in a word.
// They take a word for two tokens and 64 dimensions, begun or whole, so that the bytes of heads have the ratios of their dimensions.
fn row_words(dims: u32) -> u32 {
  return (dims + WORD_DIMS - 1u) / WORD_DIMS;
}

fn head_words(dims: u32) -> u32 {
  return row_words(dims) * 32u + (dims + 63u) / 64u * 16u;
}
