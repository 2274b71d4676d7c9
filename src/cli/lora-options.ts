// The options of LoRA adapters.

import { DEFAULTS, LIMITS } from '../index.ts';
import type { OptionTable, Values } from './option.ts';

export const LORA_OPTIONS = {
  'lora-paths': {
    kind: 'list',
    group: 'Model',
    value: 'name=folder,...',
    help: 'LoRA adapters to load; a request names one by lora_path, or by model as base:name.',
    otherwise: 'none',
  },
  'lora-dir': {
    kind: 'string',
    group: 'Model',
    value: 'folder',
    help: 'Folder whose LoRA adapters requests may name; they are loaded when they are.',
    otherwise: 'none',
  },
  'max-loras': {
    kind: 'integer',
    default: DEFAULTS.adapters,
    min: 1,
    max: LIMITS.adapters,
    group: 'Model',
    help: 'LoRA adapters loaded at once.',
  },
  'max-lora-rank': {
    kind: 'integer',
    default: DEFAULTS.adapterRank,
    min: 1,
    max: LIMITS.adapterRank,
    group: 'Model',
    help: 'Largest rank of a LoRA adapter.',
  },
} as const satisfies OptionTable;

/** Under the engine's names. */
export function toLoraOptions(given: Partial<Values<typeof LORA_OPTIONS>>) {
  return {
    loraPaths: given['lora-paths'],
    loraDir: given['lora-dir'],
    maxLoras: given['max-loras'],
    maxLoraRank: given['max-lora-rank'],
  };
}
