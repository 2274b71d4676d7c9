// Uploads of a page's requests: for each tensor of the checkpoint, the kernels that write its rows into the memory of the handles.
// Any part of the requests may be read again, into the memory that the handles have then.

import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { Matrix, type MatrixPart } from '../../kernels/matrix.ts';
import { packRows } from '../../kernels/pack.ts';
import { spreadExponents, spreadScales } from '../../kernels/spread-scales.ts';
import { widen } from '../../kernels/widen.ts';
import { partsOf, type WeightHandle, type WeightRequest } from '../../models/weights.ts';
import { codedUploads } from './coded.ts';
import type { InputOrders } from './input-orders.ts';
import { hasScaleTensor, scalesOf } from './scales.ts';
import type { Wanted } from './upload.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** Returns the uploads that fill the handles of these requests, one per tensor. */
export function uploadsOf(
  requests: readonly WeightRequest[],
  handles: readonly WeightHandle[],
  tensors: Tensors,
  orders: InputOrders,
): Wanted[] {
  const wanted = new Map<string, Wanted>();
  requests.forEach((request, i) => {
    for (const upload of requestUploads(request, handles[i]!, tensors, orders)) {
      const before = wanted.get(upload.entry.name);
      // Several parts may come from one tensor.
      wanted.set(upload.entry.name, before ? both(before, upload) : upload);
    }
  });
  return [...wanted.values()];
}

function both(first: Wanted, second: Wanted): Wanted {
  return {
    ...first,
    place(tape, chunk) {
      first.place(tape, chunk);
      second.place(tape, chunk);
    },
  };
}

function requestUploads(
  request: WeightRequest,
  handle: WeightHandle,
  tensors: Tensors,
  orders: InputOrders,
): Wanted[] {
  if (request.layout === 'table') return [tableUpload(handle as Tensor, tensors, request)];
  const parts = partsOf(request);
  if (!(handle instanceof Matrix))
    return parts.map((part) => vectorUpload(handle, tensors, part, request.plus));
  const { bias } = handle;
  return [
    ...parts.flatMap((part) => partUploads(handle, tensors, part, orders)),
    ...(bias ? biasParts(request, parts).map((part) => vectorUpload(bias, tensors, part)) : []),
  ];
}

/** Uploads of a part's rows: one tensor, or those that hold them together. */
function partUploads(matrix: Matrix, tensors: Tensors, part: MatrixPart, orders: InputOrders): Wanted[] {
  const entry = tensors.get(part.name)!;
  if (entry.coded) return codedUploads(matrix, part, entry, orders.places(matrix, part));
  return [
    {
      entry,
      place: (tape, { source, ...chunk }) => packRows(tape, matrix, part, { ...chunk, source: source! }),
    },
    ...scaleUpload(matrix, tensors, part),
  ];
}

/** The upload of a part's scales, if another tensor holds them. */
function scaleUpload(matrix: Matrix, tensors: Tensors, part: MatrixPart): Wanted[] {
  const codes = tensors.get(part.name)!;
  if (!hasScaleTensor(codes)) return [];
  const scales = scalesOf(tensors, { ...codes, name: part.name });
  const { shape, ...entry } = tensors.get(scales.name)!;
  // Read at once.
  const whole = { ...entry, shape: [shape.reduce((product, extent) => product * extent, 1)] };
  if (scales.source === 'e8m0')
    return [{ entry: whole, place: (tape, { raw }) => spreadExponents(tape, matrix, part, raw) }];
  const { source, tiles } = scales;
  return [
    { entry: whole, place: (tape, { raw }) => spreadScales(tape, matrix, part, { raw, source, tiles }) },
  ];
}

/** Returns the parts of a request's biases, placed like the rows that they belong to. */
function biasParts({ names, bias }: WeightRequest, parts: readonly MatrixPart[]): MatrixPart[] {
  return parts.map((part) => ({ ...part, name: bias![names.indexOf(part.name)]! }));
}

function vectorUpload(
  y: Tensor,
  tensors: Tensors,
  { name, rows, firstRow, rowStep = 1, placement }: MatrixPart,
  plus: 0 | 1 = 0,
): Wanted {
  return {
    entry: tensors.get(name)!,
    place: (tape, { raw, source }) =>
      widen(tape, y, placement, { raw, source: source!, size: rows, skip: firstRow, step: rowStep, plus }),
  };
}

function tableUpload(y: Tensor, tensors: Tensors, request: WeightRequest): Wanted {
  const { names, rows: counts, k, rowsAs } = request;
  const entry = tensors.get(names[0]!)!;
  return {
    entry: rowsAs ? { ...entry, shape: [counts[0]!, k] } : entry,
    place(tape, { raw, source, firstRow, rows }) {
      const placement = { firstColumn: firstRow * y.stride, unit: k, unitStride: y.stride };
      widen(tape, y, placement, { raw, source: source!, size: rows * k });
    },
  };
}
