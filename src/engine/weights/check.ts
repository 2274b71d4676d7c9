// Compares a page's requests with the tensors of a checkpoint before any weights are read: names, shapes, types, and tensors that
// nothing reads.

import { option, say } from '../../files/message.ts';
import { EngineError, unsupported } from '../../files/error.ts';
import type { ConfigSource } from '../../files/checkpoint/opened-checkpoint.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { quantizedSign } from '../../files/coded/quantized.ts';
import { isFlat, QUANTIZED_FORMATS, SOURCES, sourceNames, storedBlock } from '../../kernels/formats.ts';
import { tensorsOf, type WeightRequest } from '../../models/weights.ts';
import type { Collected } from './collect.ts';
import { hasScaleTensor, SCALE_SUFFIXES, scalesOf } from './scales.ts';
import { spareBiases } from './spare-biases.ts';
import { findUnread, type UnreadModules } from './unread.ts';

/** Name, type and shape of a tensor, as in its file's header. */
export type TensorHeader = Pick<TensorEntry, 'name' | 'storedAs' | 'dtype' | 'shape' | 'coded'>;
export type TensorHeaders = ReadonlyMap<string, TensorHeader>;

/** Remedy for a missing tensor that other checkpoints of the architecture leave out, where the embedding stands in for it. */
const UNTIED =
  'config.json does not tie it to the embedding (tie_word_embeddings); take both files from where the model was published';
const MISMATCH = 'the weights and config.json are not of one model, take both from where it was published';
const GGUF_MISMATCH =
  'the tensors and the metadata are not of one model, fetch the file again or convert the model again';
const CONFIG_JSON: ConfigSource = { name: 'config.json', metadata: null };

/**
 * Throws bad_checkpoint for a tensor that is missing or whose shape or type differs from the request, and for one that no request
 * reads although it belongs to a module that is read; throws unsupported if the tensors are quantized codes. Returns the modules
 * that are not read. `source`: the file of the configuration, for messages.
 */
export function checkRequests(
  { requests, ignored }: Pick<Collected<unknown>, 'requests' | 'ignored'>,
  tensors: TensorHeaders,
  source: ConfigSource = CONFIG_JSON,
): UnreadModules {
  const read = new Set<string>();
  for (const request of requests) {
    for (const { name, shape } of tensorsOf(request)) {
      checkTensor(tensors, name, shape, source, request.mayBeTied ? UNTIED : MISMATCH);
      read.add(name);
      checkCoded(request, tensors.get(name)!);
      if (!hasScaleTensor(tensors.get(name)!)) continue;
      checkScaled(request, tensors.get(name)!);
      read.add(scalesOf(tensors, { ...tensors.get(name)!, name }).name);
    }
  }
  for (const name of spareBiases(requests, tensors).keys()) read.add(name);
  const isIgnored = (name: string): boolean => ignored.some((names) => names.test(name));
  const left = [...tensors.keys()].filter(
    (name) => !read.has(name) && !isIgnored(name) && !isIgnored(scaledBy(tensors, name) ?? name),
  );
  const { needed, modules } = findUnread(left, read);
  const [first] = needed;
  if (first === undefined) return modules;
  const more = needed.length > 1 ? `(and ${needed.length - 1} more) ` : '';
  const problem = `${more}is not part of the architecture that ${statedBy(source)} names`;
  throw broken(tensors, first, problem, source);
}

/** The tensor of codes whose scales a tensor holds, by its name; null: the tensor is none of scales. */
function scaledBy(tensors: TensorHeaders, name: string): string | null {
  const suffix = SCALE_SUFFIXES.find((end) => name.endsWith(end));
  const scaled = suffix === undefined ? null : name.slice(0, -suffix.length);
  return scaled !== null && tensors.has(scaled) ? scaled : null;
}

function checkTensor(
  tensors: TensorHeaders,
  name: string,
  shape: readonly number[],
  stated: ConfigSource,
  missing: string,
): void {
  const entry = tensors.get(name);
  if (!entry) throw broken(tensors, name, 'is missing', stated, missing);
  if (squeezed(entry.shape).join() !== squeezed(shape).join()) {
    const problem = `has the shape [${entry.shape.join(', ')}], ${statedBy(stated)} asks for [${shape.join(', ')}]`;
    throw broken(tensors, name, problem, stated);
  }
  const source = SOURCES[entry.dtype];
  if (source) return isFlat(entry.dtype) ? undefined : checkBlocks(entry, storedBlock(source)?.values ?? 1);
  const problem = `is stored as ${entry.dtype}, and only ${sourceNames()} are read: choose a checkpoint whose weights are in one of them`;
  throw quantizedError(tensors, name) ?? tensorError('bad_checkpoint', entry, problem);
}

function statedBy({ metadata }: ConfigSource): string {
  return metadata === null ? 'config.json' : 'its metadata';
}

/** Only matrices keep codes that several tensors hold together; inputs in another order are read of those that one matmul multiplies. */
function checkCoded({ layout, kernel, role }: WeightRequest, { name, coded }: TensorHeader): void {
  if (!coded) return;
  // Rows in turns come from tensors that are read whole, like gpt-oss' experts.
  const isMatrix = layout !== 'vector' && layout !== 'table' && layout !== 'turns' && kernel === 1;
  const mayBeOrdered = role === 'linear' || role === 'router';
  if (isMatrix && (mayBeOrdered || coded.order === null)) return;
  const problem = isMatrix
    ? `has its inputs in another order (g_idx), which is not read of ${role === 'expert' ? 'experts' : 'embeddings'}`
    : 'is stored in codes with scales of their own, and only matrices whose rows follow one another are read so';
  throw unsupported(`tensor ${name} ${problem}: choose another quantized checkpoint`, name);
}

/** Only matrices keep codes whose scales stand in another tensor. */
function checkScaled({ layout, kernel }: WeightRequest, header: TensorHeader): void {
  if (layout !== 'vector' && layout !== 'table' && kernel === 1) return;
  const problem = `is stored as FP8, and only matrices are read so: choose a checkpoint that stores it as ${sourceNames()}`;
  throw tensorError('unsupported', header, problem);
}

/** Rows of codes are whole blocks. */
function checkBlocks(header: TensorHeader, values: number): void {
  const { dtype, shape } = header;
  const k = shape.at(-1) ?? 1;
  if (k % values === 0) return;
  const [code, problem] = hasScaleTensor(header)
    ? ([
        'unsupported',
        `is read in rows of whole ${values} values: choose a checkpoint in another format`,
      ] as const)
    : ([
        'bad_checkpoint',
        `stores blocks of ${values}: take the file from where the model was published`,
      ] as const);
  throw tensorError(code, header, `has rows of ${k} values, and ${dtype} ${problem}`);
}

/** Returns the headers of a request's tensors, weights before biases. The checkpoint must have been checked. */
export function entriesOf<Header extends TensorHeader>(
  request: WeightRequest,
  tensors: ReadonlyMap<string, Header>,
): Header[] {
  return tensorsOf(request).map(({ name }) => tensors.get(name)!);
}

/** The error of a tensor that a checkpoint has too much, not at all, or of another shape. */
function broken(
  tensors: TensorHeaders,
  name: string,
  problem: string,
  { name: file, metadata }: ConfigSource,
  remedy = MISMATCH,
): EngineError {
  const header = tensors.get(name) ?? { name };
  const quantized = quantizedError(tensors, name);
  if (quantized !== null) return quantized;
  if (metadata === null) return tensorError('bad_checkpoint', header, `${problem}: ${remedy}`);
  return tensorError('bad_checkpoint', header, `${problem}: ${GGUF_MISMATCH}`, `${file}: `);
}

function tensorError(
  code: 'bad_checkpoint' | 'unsupported',
  { name, storedAs = name }: Pick<TensorHeader, 'name' | 'storedAs'>,
  problem: string,
  file = '',
): EngineError {
  return new EngineError(code, `${file}tensor ${storedAs} ${problem}`, { param: storedAs });
}

/** The error where the tensors show that the weights are quantized in a way that is not read; null: they do not. */
function quantizedError(tensors: TensorHeaders, name: string): EngineError | null {
  const sign = quantizedSign(unreadOf(tensors));
  if (sign === null) return null;
  return unsupported(
    say`the weights are quantized already (${sign}), which is not read: take the original checkpoint, and ${option('quantization')} ${QUANTIZED_FORMATS.join(' or ')} for its size`,
    name,
  );
}

/** Tensors other than codes that are computed as they are, and their scales. */
function unreadOf(tensors: TensorHeaders): TensorHeaders {
  const coded = [...tensors].filter(([, { dtype }]) => storedBlock(SOURCES[dtype] ?? 'f32') !== null);
  const read = new Set(coded.flatMap(([name]) => [name, ...SCALE_SUFFIXES.map((suffix) => name + suffix)]));
  return new Map([...tensors].filter(([name]) => !read.has(name)));
}

/**
 * Drops extents of 1 at the end, with which [out, in] is stored as a kernel of one tap; [out, 1, in] and [1, out, in] become [out, in], and
 * [1, in] becomes [in], since a vector may be stored as a matrix of one row; [] becomes [1].
 */
function squeezed(shape: readonly number[]): readonly number[] {
  if (shape.length === 0) return [1];
  const inner = shape.slice(0, Math.max(1, shape.findLastIndex((extent) => extent !== 1) + 1));
  const single = inner.length === 3 ? inner.slice(0, 2).lastIndexOf(1) : -1;
  const matrix = single < 0 ? inner : inner.toSpliced(single, 1);
  return matrix.length === 2 && matrix[0] === 1 ? matrix.slice(1) : matrix;
}

/** Headers of the tensors that requests read, each once. */
export function entriesOfAll(
  requests: readonly WeightRequest[],
  tensors: ReadonlyMap<string, TensorEntry>,
): TensorEntry[] {
  return [...new Set(requests.flatMap((request) => entriesOf(request, tensors)))];
}
