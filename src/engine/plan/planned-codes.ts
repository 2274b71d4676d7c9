// Headers of weights in codes by configuration alone, where files of weights are not there.

import type { Quantized } from '../../files/coded/quantized.ts';
import type { CodedDtype } from '../../files/tensors/coded-tensor.ts';
import { bitsPerWeight } from '../../kernels/formats.ts';
import type { WeightRequest, WeightTable } from '../../models/weights.ts';
import { collect } from '../weights/collect.ts';
import { storedAs } from '../weights/plan.ts';
import type { PlannedHeader } from './headers.ts';

type Headers = ReadonlyMap<string, PlannedHeader>;

/** Names of the tensors beside bitsandbytes' codes. */
const PARTS =
  /\.weight\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.bitsandbytes__\w+)$|\.(SCB|weight_format)$/;
/** Heads stay numbers. */
const HEAD = /(^|\.)(lm_head|embed_out)\./;

type Kind = 'NF4' | 'FP4' | 'I8';

/** The headers with those of matrices as bitsandbytes' codes, where the declaration says so: the ones that an index lists so, else all but the head. */
export function withBitsAndBytes(
  page: (weights: WeightTable) => unknown,
  headers: Headers,
  declared: Quantized | null,
): Headers {
  if (declared?.method !== 'bitsandbytes') return headers;
  const isListed = [...headers.keys()].some((name) => PARTS.test(name));
  const kindOf = isListed ? listedKind(headers) : statedKind(declared.settings);
  const all = new Map([...headers].filter(([name]) => !PARTS.test(name)));
  for (const request of collect(new Set(all.keys()), page).requests) {
    request.names.forEach((name, i) => {
      const kind = kindOf(name, request);
      if (kind === null) return;
      const shape = [request.rows[i]!, request.k];
      const dtype = dtypeOf(kind, request.k);
      const bytes = (shape[0]! * request.k * bitsPerWeight(storedAs(dtype))) / 8;
      all.set(name, { name, dtype, shape, bytes });
    });
  }
  return all;
}

/** The kind of a weight, by the names beside it. */
function listedKind(headers: Headers): (name: string) => Kind | null {
  return (name) => {
    if (headers.has(`${name}.quant_state.bitsandbytes__nf4`)) return 'NF4';
    if (headers.has(`${name}.quant_state.bitsandbytes__fp4`)) return 'FP4';
    return headers.has(name.replace(/weight$/, 'SCB')) ? 'I8' : null;
  };
}

function statedKind(
  settings: Readonly<Record<string, unknown>>,
): (name: string, request: WeightRequest) => Kind | null {
  const { load_in_8bit: isBytes, bnb_4bit_quant_type: type } = settings;
  const kind = isBytes === true ? 'I8' : type === 'nf4' ? 'NF4' : 'FP4';
  return (name, { role }) => (role === 'linear' && !HEAD.test(name) ? kind : null);
}

/** The type with the most k's to a scale that a row divides into. */
function dtypeOf(kind: Kind, k: number): CodedDtype {
  if (kind === 'I8') return k % 128 === 0 ? 'I8_128' : 'I8_32';
  return k % 64 === 0 ? `${kind}_64` : `${kind}_32`;
}
