// The options of `svc generate` about LoRAs, checked together.

import { UsageError } from '../process/exit.ts';
import type { GenerateOptions } from './generate-options.ts';

/** Values that pass without LoRAs too: those that LoRAs have where nothing else is given. */
const USUAL = { 'lora-nickname': 'default', 'lora-scale': 1, 'lora-target-modules': undefined };

const hasAdapters = (options: GenerateOptions): boolean => (options['lora-path'] ?? []).length > 0;

/** Throws UsageError if settings of LoRAs are given without a LoRA. */
export function checkAdapters(options: GenerateOptions, nameOf: (name: string) => string): void {
  if (hasAdapters(options)) return;
  for (const [name, usual] of Object.entries(USUAL)) {
    const values: readonly unknown[] = options[name as keyof typeof USUAL] ?? [];
    if (values.every((value) => value === usual)) continue;
    throw new UsageError(`${nameOf(name)} needs --lora-path: give both, or neither`);
  }
}

/** Returns the options without the settings of LoRAs where there are none. */
export function withoutSpareAdapters(options: GenerateOptions): Partial<GenerateOptions> {
  if (hasAdapters(options)) return options;
  const others = Object.entries(options).filter(([name]) => name !== 'lora-path' && !(name in USUAL));
  return Object.fromEntries(others) as Partial<GenerateOptions>;
}
