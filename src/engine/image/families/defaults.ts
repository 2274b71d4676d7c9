// Defaults of a model: its family's, replaced by what its files, its pipeline class or a word in its name imply.

import { type Prose } from '../../../files/message.ts';
import type { ComponentFiles, DefaultsFrom, FamilyDefaults } from './family.ts';
import type { PipelineEntry } from './registry.ts';

export interface OwnDefaults {
  defaults: FamilyDefaults;
  /** The hint that some of them were taken from; left out: the family alone. */
  defaultsFrom?: string;
  /** A note for the user, where the files leave open how the model is used. */
  hint?: Prose;
}

/** Defaults of a model; `name` is its own, or the `modelId` given in its place. */
export function defaultsOf(entry: PipelineEntry, components: ComponentFiles, name: string): OwnDefaults {
  const { family } = entry;
  const implied = family.defaultsOf?.(components) ?? {};
  const found = implied.certain ?? defaultsByName(entry, name) ?? implied.likely;
  if (found) {
    const defaults = { ...family.defaults, ...found.defaults };
    return { defaults, defaultsFrom: found.from };
  }
  const { defaults } = family;
  return implied.hint === undefined ? { defaults } : { defaults, hint: implied.hint };
}

function defaultsByName({ family, set, className }: PipelineEntry, name: string): DefaultsFrom | null {
  if (set.defaults) return { defaults: set.defaults, from: `the class ${className}` };
  for (const [words, defaults] of family.namedDefaults) {
    const [word] = words.exec(name) ?? [];
    if (word !== undefined) return { defaults, from: `"${word}" in its name` };
  }
  return null;
}
