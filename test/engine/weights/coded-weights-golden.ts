// The goldens of scripts/reference/coded_weights.py: tensors of GPTQ, AWQ and compressed-tensors, and their settings.

import { readFileSync } from 'node:fs';
import { readSafetensors } from '../../../src/files/tensors/safetensors.ts';
import type { Declared } from '../../../src/files/coded/methods.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openCodedGolden } from '../../files/coded/coded-golden.ts';

const NAME = 'coded-weights';
const file = readFileSync(new URL(`../../golden/${NAME}.safetensors`, import.meta.url));
const { metadata } = await readSafetensors(memorySource('golden', file));

/** A case's tensors as those of module w, as they are stored, and the values of its method's own code. */
export const unfolded = await openCodedGolden(NAME);

/** What config.json states for a case. */
export function settingsOf(name: string): Declared {
  const settings = JSON.parse(metadata[name]!) as Record<string, unknown>;
  return { method: String(settings['quant_method']), settings };
}
