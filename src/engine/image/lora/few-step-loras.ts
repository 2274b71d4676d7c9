// LoRAs that distil a model to few steps, by their names: the steps, guidance and noise schedule that they were trained for. source: their
// model cards

import type { ImageLora } from '../../../files/lora/image-lora.ts';

export interface FewSteps {
  steps: number;
  guidance: number;
  /** The LoRA's scale where the user gives none; left out: 1. */
  scale?: number;
  /** Schedule of models that predict noise; left out: the model's own. Flow models keep theirs. */
  scheduler?: string;
  /** Shift of the schedule of flow models; left out: the model's own. */
  flowShift?: number;
}

interface FewStepKind extends FewSteps {
  /** Matches the LoRA's names. */
  words: RegExp;
}

const KINDS: readonly FewStepKind[] = [
  { words: /\bcaus ?vid\b/i, steps: 8, guidance: 1, flowShift: 8 },
  {
    words: /\bwan ?2.*\blightning\b|\blight ?x2v\b|\bwan ?2.*\bstep ?distill/i,
    steps: 4,
    guidance: 1,
    flowShift: 5,
  },
  { words: /\btcd\b/i, steps: 4, guidance: 1, scheduler: 'tcd' },
  { words: /\blcm\b/i, steps: 4, guidance: 1, scheduler: 'lcm' },
  { words: /\bdmd2?\b/i, steps: 4, guidance: 1, scheduler: 'lcm' },
  { words: /\bhyper\b.*\bflux\b.*\b\d+ ?steps?\b/i, steps: 8, guidance: 3.5, scale: 0.125 },
  { words: /\bhyper\b.*\bsd ?3\b.*\b\d+ ?steps?\b/i, steps: 8, guidance: 5, scale: 0.125 },
  { words: /\bhyper\b.*\b\d+ ?steps?\b.*\bcfg\b/i, steps: 8, guidance: 5, scheduler: 'ddim-trailing' },
  { words: /\bhyper\b.*\b1 ?steps?\b/i, steps: 1, guidance: 1, scheduler: 'tcd' },
  // Both words are also those of styles; LoRAs that distil say their steps.
  { words: /\bhyper\b.*\b\d+ ?steps?\b/i, steps: 8, guidance: 1, scheduler: 'ddim-trailing' },
  { words: /\blightning\b.*\b\d+ ?steps?\b/i, steps: 8, guidance: 1, scheduler: 'euler-trailing' },
  { words: /\bflux[ .]?2\b.*\bturbo\b/i, steps: 8, guidance: 2.5 },
  { words: /\bflux\b.*\bturbo (?:alpha|lora)\b/i, steps: 8, guidance: 3.5 },
  { words: /\bsd ?3.*\bturbo\b.*\b\d+ ?steps?\b/i, steps: 8, guidance: 1.5 },
  // LoRAs that were trained on a turbo model have that word in their names too.
  { words: /^(?!.*z ?image).*\bturbo (?:alpha|lora)\b/i, steps: 4, guidance: 1, scheduler: 'euler-trailing' },
];

const STEPS = /\b(\d{1,2}) ?-?steps?\b/i;
const MOST_STEPS = 64;

/** Returns the settings that a LoRA was trained for, with the name that shows them; null: it is an ordinary one. */
export function fewStepsOf(
  { metadata }: Pick<ImageLora, 'metadata'>,
  names: readonly string[],
): { settings: FewSteps; name: string } | null {
  const stated = [metadata['ss_output_name'], metadata['modelspec.title']].flatMap((name) => name ?? []);
  for (const name of [...names, ...stated]) {
    const words = spaced(lastParts(name));
    const kind = KINDS.find((one) => one.words.test(words));
    if (!kind) continue;
    const { words: _, ...settings } = kind;
    const steps = Number(STEPS.exec(words)?.[1] ?? settings.steps);
    return { settings: { ...settings, steps: Math.min(MOST_STEPS, Math.max(1, steps)) }, name };
  }
  return null;
}

/** A file and its folder, or a hub id: folders above them say nothing of the LoRA. */
const lastParts = (path: string): string => path.split(/[/\\]/).filter(Boolean).slice(-2).join(' ');

/** Words of a name: sdxl_lightning_4step_lora, Hyper-SDXL-8steps-lora, lcmLoraSdxl. */
function spaced(name: string): string {
  return name
    .replaceAll('LoRA', 'Lora')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[^\p{L}\d.]+/gu, ' ')
    .replaceAll(/(\d)\s*-?\s*(steps?)/gi, '$1$2');
}
