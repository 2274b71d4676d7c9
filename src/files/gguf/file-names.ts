// GGUF files of a folder or a repository by their names: which of them are parts of one split file, and the quantization that each has.

export interface GgufSet {
  /** Quantization by the file's name, like Q4_K_M; null: the name has none. */
  tag: string | null;
  /** Files in the order of their numbers; one where the file is not split. */
  names: readonly string[];
  /** Number of files that the names claim. */
  count: number;
}

const SPLIT = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;
const TAG =
  /(?:^|[-._/])((?:UD-)?(?:I?Q\d(?:_[0-9A-Z]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32|FP16|FP32))(?=[-._/]|$)/gi;
const WHOLE_TAG = new RegExp(`^(?:${TAG.source})$`, 'i');

/** Whether a text is the name of a quantization, as files have it. */
export function isQuantizationName(text: string): boolean {
  return WHOLE_TAG.test(text);
}

/** Files beside the text model: vision and audio towers, importance matrices, vocabularies without weights. */
const BESIDE = /(^|[-._/])(mmproj|imatrix)([-._]|$)|ggml-vocab-/i;

export function isGgufName(name: string): boolean {
  return /\.gguf$/i.test(name);
}

/** Sets of files, each a model, in the order of their names. */
export function ggufSets(names: readonly string[]): GgufSet[] {
  const sets = new Map<string, { names: string[]; count: number; tag: string | null }>();
  for (const name of names.toSorted()) {
    if (!isGgufName(name) || BESIDE.test(name)) continue;
    const [, , count] = SPLIT.exec(name) ?? [];
    const stem = name.replace(SPLIT, '');
    const key = count === undefined ? stem : `${stem} of ${count}`;
    const set = sets.get(key) ?? { names: [], count: Number(count ?? 1), tag: tagOf(stem) };
    set.names.push(name);
    sets.set(key, set);
  }
  return [...sets.values()];
}

/** The last quantization that a name holds. */
function tagOf(name: string): string | null {
  const tags = [...name.replace(/\.gguf$/i, '').matchAll(TAG)].map(([, tag]) => tag!.toUpperCase());
  return tags.at(-1)?.replace(/^FP(16|32)$/, 'F$1') ?? null;
}

/** The files of the set that a file belongs to. */
export function setOf(name: string, names: readonly string[]): GgufSet {
  const found = ggufSets(names).find((set) => set.names.includes(name));
  return found ?? { tag: tagOf(name), names: [name], count: 1 };
}

/** Names of the parts that a set lacks, by the number of parts that its names claim. */
export function missingParts({ names: [first = '', ...others], count }: GgufSet): string[] {
  if (!SPLIT.test(first)) return [];
  const known = new Set([first, ...others]);
  const named = Array.from({ length: count }, (_, i) =>
    first.replace(SPLIT, (_all, _own, of: string) => `-${String(i + 1).padStart(5, '0')}-of-${of}`),
  );
  return named.filter((name) => !known.has(name));
}

/** Whether a set is the one that a tag asks for; UD- is a publisher's mark for a mix of types. */
export function hasTag({ tag }: GgufSet, wanted: string): boolean {
  const plain = (text: string): string => text.toUpperCase().replace(/^UD-/, '');
  return tag !== null && (tag === wanted.toUpperCase() || plain(tag) === plain(wanted));
}

/** The quantizations of sets, for messages: "Q4_K_M (model-Q4_K_M.gguf), Q8_0 (…)". */
export function setsText(sets: readonly GgufSet[]): string {
  return sets.map(({ tag, names: [first] }) => (tag === null ? first : `${tag} (${first})`)).join(', ');
}

/** The files that a model is opened by: all of its set, and the tower that lies in the same folder. */
export function modelFiles(name: string, names: readonly string[]): string[] {
  const folder = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);
  const set = setOf(name, names);
  if (BESIDE.test(name)) return [...set.names];
  const tower = towerBeside(
    name,
    names.filter((one) => folder(one) === folder(name)),
  );
  return tower === null ? [...set.names] : [...set.names, tower];
}

/** Whether files are of no use alone: towers whose models are gone, or none at all. */
export function isRest(names: readonly string[]): boolean {
  return names.every((name) => TOWER.test(name));
}

const TOWER = /(^|[-._/])mmproj(?=[-._]|$)/i;
/** Types of towers in the order in which they are taken: published towers lose by other types. */
const TOWER_TYPES = ['F16', 'BF16', 'Q8_0', 'F32'];

/**
 * The file with the tower of a model, by names: one that is named like the model, or in a folder with one model any. Several are taken in the
 * order of TOWER_TYPES. null: there is none.
 */
export function towerBeside(model: string, names: readonly string[]): string | null {
  const stems = new Set(ggufSets(names).map((set) => stemOf(set.names[0]!)));
  const towers = names.filter((name) => isGgufName(name) && TOWER.test(name)).toSorted();
  const named = towers.filter((name) => stemOf(name) === stemOf(model));
  const fitting = named.length > 0 ? named : towers.filter((name) => stems.size <= 1 || stemOf(name) === '');
  return fitting.toSorted((a, b) => towerRank(a) - towerRank(b))[0] ?? null;
}

function towerRank(name: string): number {
  const rank = TOWER_TYPES.indexOf(tagOf(name) ?? '');
  return rank < 0 ? TOWER_TYPES.length : rank;
}

/** Returns the part of a file's name that all quantizations of its model share. */
function stemOf(name: string): string {
  const plain = name
    .slice(name.lastIndexOf('/') + 1)
    .replace(SPLIT, '')
    .replace(/\.gguf$/i, '');
  return plain
    .replace(TOWER, '')
    .replace(TAG, '')
    .replace(/^[-._]+|[-._]+$/g, '')
    .toLowerCase();
}
