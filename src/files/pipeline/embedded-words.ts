// Textual inversions: rows that stand for a word of prompts in place of the text encoder's own. A file of diffusers names its word, and
// files of other programs have the word as their name; one for Stable Diffusion XL has rows for each of its text encoders.

import { badCheckpoint, type EngineError, modelNotFound, unsupported } from '../error.ts';
import { readTensorFile, tensorFiles, tensorStem } from '../tensors/tensor-file.ts';
import type { Folder } from '../source.ts';
import { smallValues } from './file-parts.ts';

/** Rows of one text encoder, [rows, columns]. */
export interface WordRows {
  rows: number;
  columns: number;
  values: Float32Array;
}

/** Text encoders whose rows files name. */
export type NamedEncoder = 'clip_l' | 'clip_g';

export interface EmbeddedWord {
  /** Path of the file, for messages. */
  path: string;
  /** The word that prompts contain. */
  word: string;
  /** Rows of the only text encoder of a model, or of each of two. */
  rows: WordRows | Readonly<Record<NamedEncoder, WordRows>>;
}

/** File name that diffusers gives. */
const USUAL = ['learned_embeds.safetensors', 'learned_embeds.bin'];
/** Names of the tensor in files of A1111: in safetensors, and in torch's. */
const UNNAMED = ['emb_params', 'string_to_param.*'];
const ENCODERS: readonly NamedEncoder[] = ['clip_l', 'clip_g'];

/** The option that names a file. */
const PATH = 'textualInversionPath';
/** Limits; published files have up to 75 rows of 1280 columns. */
const MOST_ROWS = 256;
const MOST_COLUMNS = 8192;
/** Limit on the characters of a word. */
const MOST_WORD = 256;

/** Opens the textual inversion in a folder, or the file that stands for one. Throws bad_checkpoint, unsupported, model_not_found. */
export async function openEmbeddedWord(folder: Folder): Promise<EmbeddedWord> {
  const name = fileIn(folder.path, await folder.names());
  const path = folder.path.endsWith(name) ? folder.path : `${folder.path}/${name}`;
  const source = await folder.open(name);
  try {
    const { tensors } = await readTensorFile(source);
    const read = (tensor: string): Promise<WordRows> => readRows({ path, tensors }, tensor);
    const names = [...tensors.keys()];
    const stem = tensorStem(name);
    if (ENCODERS.every((encoder) => tensors.has(encoder)) && names.length === ENCODERS.length)
      return { path, word: stem, rows: { clip_l: await read('clip_l'), clip_g: await read('clip_g') } };
    const [only] = names;
    if (names.length !== 1 || only === undefined) throw otherFile(path, names);
    return { path, word: UNNAMED.includes(only) ? stem : wordOf(path, only), rows: await read(only) };
  } finally {
    await source.close();
  }
}

/** The word that the name of a tensor is. */
function wordOf(path: string, name: string): string {
  const word = name.trim();
  if (word !== '' && word.length <= MOST_WORD) return word;
  throw badCheckpoint(
    `${path}: the name of its tensor is its word and has ${word.length} characters, and 1 to ${MOST_WORD} are needed: take the file from where it was published`,
    PATH,
  );
}

function fileIn(path: string, names: readonly string[]): string {
  const files = tensorFiles(names);
  const found = files.find((name) => USUAL.includes(name)) ?? (files.length === 1 ? files[0] : undefined);
  if (found !== undefined) return found;
  throw modelNotFound(
    files.length === 0
      ? `${path} has no .safetensors file: give the file of a textual inversion, or the folder that it lies in`
      : `${path} has ${files.length} files (${files.slice(0, 3).join(', ')}${files.length > 3 ? ' …' : ''}): name one of them`,
    PATH,
  );
}

function otherFile(path: string, names: readonly string[]): EngineError {
  return unsupported(
    `${path} is not a textual inversion: it has ${names.length} tensors${names.length > 0 ? `, such as ${names[0]!.slice(0, 128)}` : ''}, and one with the rows of a word is needed, or ${ENCODERS.join(' and ')}`,
    PATH,
  );
}

async function readRows(file: Parameters<typeof smallValues>[0], name: string): Promise<WordRows> {
  const { shape } = file.tensors.get(name)!;
  const [rows = 0, columns = 0] = shape.length === 1 ? [1, shape[0]] : shape;
  const fits = shape.length <= 2 && rows >= 1 && rows <= MOST_ROWS && columns >= 1 && columns <= MOST_COLUMNS;
  if (!fits)
    throw badCheckpoint(
      `${file.path}: tensor ${name.slice(0, 128)} is of [${shape.join(', ')}], and up to ${MOST_ROWS} rows of up to ${MOST_COLUMNS} numbers stand for a word: take the file from where it was published`,
      PATH,
    );
  const values = (await smallValues(file, name, MOST_ROWS * MOST_COLUMNS))!;
  if (values.every((value) => Number.isFinite(value))) return { rows, columns, values };
  throw badCheckpoint(
    `${file.path}: tensor ${name.slice(0, 128)} has values that are not finite: take the file from where it was published`,
    PATH,
  );
}
