// Compares a page's requests with the tensors of a checkpoint before any weights are read: names, shapes, types, and tensors that
// nothing reads.

import { option, say } from '../../files/message.ts';
import { EngineError } from '../../files/error.ts';
import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import { quantizedSign } from '../../files/quantized.ts';
import { QUANTIZED_FORMATS, SOURCES, sourceNames, storedBlock } from '../../kernels/formats.ts';
import { tensorsOf, type WeightRequest } from '../../models/weights.ts';
import type { Collected } from './collect.ts';
import { hasScaleTensor, scalesOf } from './scales.ts';
import { findUnread, type UnreadModules } from './unread.ts';

/** Name, type and shape of a tensor, as in its file's header. */
export type TensorHeader = Pick<TensorEntry, 'name' | 'dtype' | 'shape' | 'coded'>;
export type TensorHeaders = ReadonlyMap<string, TensorHeader>;

const HEAD = 'lm_head.weight';
const UNTIED =
  'config.json does not tie it to the embedding (tie_word_embeddings); take both files from where the model was published';
const MISMATCH = 'the weights and config.json are not of one model, take both from where it was published';

/**
 * Throws bad_checkpoint for a tensor that is missing or whose shape or type differs from the request, and for one that no request
 * reads although it belongs to a module that is read; throws unsupported if the tensors are quantized codes. Returns the modules
 * that are not read.
 */
export function checkRequests(
  { requests, ignored }: Pick<Collected<unknown>, 'requests' | 'ignored'>,
  tensors: TensorHeaders,
): UnreadModules {
  const read = new Set<string>();
  for (const request of requests) {
    for (const { name, shape } of tensorsOf(request)) {
      checkTensor(tensors, name, shape);
      read.add(name);
      checkCoded(request, tensors.get(name)!);
      if (!hasScaleTensor(tensors.get(name)!)) continue;
      checkScaled(request, name);
      read.add(scalesOf(tensors, tensors.get(name)!).name);
    }
  }
  const left = [...tensors.keys()].filter(
    (name) => !read.has(name) && !ignored.some((names) => names.test(name)),
  );
  const { needed, modules } = findUnread(left, read);
  const [first] = needed;
  if (first === undefined) return modules;
  const more = needed.length > 1 ? `(and ${needed.length - 1} more) ` : '';
  throw broken(tensors, first, `${more}is not part of the architecture that config.json names`, MISMATCH);
}

function checkTensor(tensors: TensorHeaders, name: string, shape: readonly number[]): void {
  const entry = tensors.get(name);
  if (!entry) throw broken(tensors, name, 'is missing', name === HEAD ? UNTIED : MISMATCH);
  if (squeezed(entry.shape).join() !== squeezed(shape).join()) {
    const problem = `has the shape [${entry.shape.join(', ')}], config.json asks for [${shape.join(', ')}]`;
    throw broken(tensors, name, problem, MISMATCH);
  }
  const source = SOURCES[entry.dtype];
  if (source) return checkBlocks(entry, storedBlock(source)?.values ?? 1);
  const problem = `is stored as ${entry.dtype}, and only ${sourceNames()} are read`;
  throw broken(tensors, name, problem, 'choose a checkpoint whose weights are in one of them');
}

/** Only matrices keep codes that several tensors hold together, and their inputs stand in the order of the groups. */
function checkCoded({ layout, kernel }: WeightRequest, { name, coded }: TensorHeader): void {
  if (!coded) return;
  const isMatrix = layout !== 'vector' && layout !== 'table' && kernel === 1;
  if (isMatrix && !coded.isOrdered) return;
  const problem = isMatrix
    ? 'is stored with its inputs in another order (g_idx), and only files in the order of the groups are read'
    : `is stored in codes, and only matrices are read so`;
  throw new EngineError('unsupported', `tensor ${name} ${problem}: choose another quantized checkpoint`, {
    param: name,
  });
}

/** Only matrices keep codes whose scales stand in another tensor. */
function checkScaled({ layout, kernel }: WeightRequest, name: string): void {
  if (layout !== 'vector' && layout !== 'table' && kernel === 1) return;
  throw new EngineError(
    'unsupported',
    `tensor ${name} is stored as FP8, and only matrices are read so: choose a checkpoint that stores it as ${sourceNames()}`,
    { param: name },
  );
}

/** Rows of codes are whole blocks. */
function checkBlocks(header: TensorHeader, values: number): void {
  const { name, dtype, shape } = header;
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
  throw new EngineError(code, `tensor ${name} has rows of ${k} values, and ${dtype} ${problem}`, {
    param: name,
  });
}

/** Returns the headers of a request's tensors, weights before biases. The checkpoint must have been checked. */
export function entriesOf<Header extends TensorHeader>(
  request: WeightRequest,
  tensors: ReadonlyMap<string, Header>,
): Header[] {
  return tensorsOf(request).map(({ name }) => tensors.get(name)!);
}

/** The error suggests another download only for a damaged header. */
function broken(tensors: TensorHeaders, tensor: string, reason: string, remedy: string): EngineError {
  const sign = quantizedSign(tensors);
  if (sign === null) {
    return new EngineError('bad_checkpoint', `tensor ${tensor} ${reason}: ${remedy}`, { param: tensor });
  }
  return new EngineError(
    'unsupported',
    say`the weights are quantized already (${sign}), which is not read: take the original checkpoint, and ${option('quantization')} ${QUANTIZED_FORMATS.join(' or ')} for its size`,
    { param: tensor },
  );
}

/** Converts [out, in, 1, 1] to [out, in]. */
function squeezed(shape: readonly number[]): readonly number[] {
  if (shape.length === 4 && shape[2] === 1 && shape[3] === 1) return shape.slice(0, 2);
  return shape.length === 3 && shape[1] === 1 ? [shape[0]!, shape[2]!] : shape;
}
