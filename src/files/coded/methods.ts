// Quantization methods of other programs whose weights are computed in their own codes, and what their settings must say.

import { bitsAndBytesReader } from './bitsandbytes.ts';
import type { CodedReader } from '../tensors/coded-tensor.ts';
import { compressedReader, readsGroups } from './compressed.ts';
import { awqReader, formatOf, gptqReader } from './gptq.ts';
import { isMlxForm, mlxReader } from './mlx.ts';
import { isModelOptNvfp4, modelOptReader } from './nvfp4.ts';

/** What a folder's files state about the quantization of its weights. */
export interface Declared {
  /** The method's name in the file; null: there is none. */
  method: string | null;
  settings: Readonly<Record<string, unknown>>;
}

interface Method {
  /** The method's name and what of it is read, for messages and tables. */
  name: string;
  matches(declared: Declared): boolean;
  /** The reader of its tensors; null: each weight is one tensor, with a scale beside it. */
  reader: ((settings: Declared['settings']) => CodedReader) | null;
}

const METHODS: readonly Method[] = [
  { name: 'FP8 (E4M3)', matches: isFp8, reader: null },
  { name: 'GPTQ (4 and 8 bits)', matches: isGptq, reader: gptqReader },
  { name: 'AWQ (4 bits, GEMM)', matches: isAwq, reader: awqReader },
  {
    name: 'compressed-tensors (integers of 4 and 8 bits, NVFP4)',
    matches: isCompressed,
    reader: compressedReader,
  },
  { name: 'bitsandbytes (NF4, FP4, LLM.int8)', matches: isBitsAndBytes, reader: bitsAndBytesReader },
  { name: 'MXFP4 (experts of gpt-oss)', matches: ({ method }) => method === 'mxfp4', reader: null },
  { name: 'MLX (4 and 8 bits, MXFP4)', matches: isMlx, reader: mlxReader },
  { name: 'NVFP4 (ModelOpt)', matches: isModelOpt4, reader: modelOptReader },
];

/** Names of the methods that are read. */
export const METHOD_NAMES: readonly string[] = METHODS.map(({ name }) => name);

export const isRead = (declared: Declared): boolean => METHODS.some((method) => method.matches(declared));

export function readerOf(declared: Declared): CodedReader | null {
  return METHODS.find((method) => method.matches(declared))?.reader?.(declared.settings) ?? null;
}

/** Settings of transformers' fine-grained FP8 and FBGEMM, compressed-tensors and ModelOpt. */
function isFp8({ settings }: Declared): boolean {
  const { quant_method: method, quant_algo: algorithm, fmt = 'e4m3', format } = settings;
  if (method === 'fp8' || method === 'fbgemm_fp8') return fmt === 'e4m3' || fmt === 'float8_e4m3fn';
  if (method === 'compressed-tensors') return format === 'float-quantized';
  return isModelOpt(method) && typeof algorithm === 'string' && MODELOPT_FP8.includes(algorithm);
}

const isModelOpt = (method: unknown): boolean => method === undefined || method === 'modelopt';

/** All of it in NVFP4, or layers in it and in FP8. */
function isModelOpt4({ settings }: Declared): boolean {
  return isModelOpt(settings['quant_method']) && isModelOptNvfp4(settings, MODELOPT_FP8);
}

/** ModelOpt's algorithms with weights in E4M3: a scale for a matrix, for each row, and for tiles of 128 × 128. */
const MODELOPT_FP8 = ['FP8', 'FP8_PER_CHANNEL_PER_TOKEN', 'FP8_PB_WO'];

function isCompressed({ settings }: Declared): boolean {
  return settings['quant_method'] === 'compressed-tensors' && readsGroups(settings);
}

/** The settings say how weights were loaded; each tensor says what it is. */
function isBitsAndBytes({ method }: Declared): boolean {
  return isOf(method, 'bitsandbytes');
}

function isMlx({ method, settings }: Declared): boolean {
  return isOf(method, 'mlx') && isMlxForm(settings);
}

const isOf = (method: string | null, name: string): boolean => method?.toLowerCase() === name;

function isGptq({ method, settings }: Declared): boolean {
  const { bits, is_marlin_format: marlin } = settings;
  const format = formatOf(settings);
  return (
    isOf(method, 'gptq') &&
    (bits === 4 || bits === 8) &&
    !marlin &&
    (format === 'gptq' || format === 'gptq_v2')
  );
}

/** Versions of AutoAWQ that store the layout of its GEMM version. */
const AWQ_VERSIONS = ['gemm', 'exllama', 'ipex'];

function isAwq({ method, settings }: Declared): boolean {
  const bits = settings['bits'] ?? settings['w_bit'];
  const { version = settings['checkpoint_format'] ?? settings['format'] ?? 'gemm' } = settings;
  return (
    isOf(method, 'awq') &&
    bits === 4 &&
    typeof version === 'string' &&
    AWQ_VERSIONS.includes(version.toLowerCase())
  );
}
