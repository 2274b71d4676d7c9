// A workgroup of many owns consecutive tokens of its row; the parts are equally long but for the last ones. The kernel sets `owned`.
const PARTS = 64u; // workgroups of a row

var<private> owned: Range;

struct Range {
  first: u32,
  end: u32,
}

fn range_of(part: u32, vocabulary: u32) -> Range {
  let length = (vocabulary + PARTS - 1u) / PARTS;
  return Range(min(part * length, vocabulary), min((part + 1u) * length, vocabulary));
}

fn owns(token: u32) -> bool {
  return token >= owned.first && token < owned.end;
}
