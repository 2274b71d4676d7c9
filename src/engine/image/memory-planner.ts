// Plans the memory of an image and moves the weights of its pipeline accordingly: which components stay on the device, which are loaded
// for their stages, and which are streamed layer by layer.

import { LRUCache } from 'lru-cache';
import { field, option, say, type Prose } from '../../files/message.ts';
import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import type { ChosenQuantization } from '../weights/quantization.ts';
import { firstFitting } from '../plan/first-fitting.ts';
import type { ResolvedImageRequest } from './calls/image-model.ts';
import type { ImageMemoryPlan, PlacedComponent } from './calls/memory-plan.ts';
import type { ImageMemory, OpenedPipeline } from './opened-pipeline.ts';
import type { Residency } from './components/residency.ts';
import { smallerClip } from './smaller-clip.ts';
import { ResidencySearch, type PlannedResults, type SearchOptions } from './residency-search.ts';
import { planKey } from './plan-key.ts';
import type { Resolved } from './stages/resolved.ts';

/** The part of a search that options determine. */
export type Asked = Pick<SearchOptions, 'asked' | 'mayStream' | 'prefetch'>;

/** A change of options: its words, and what is asked for with it. */
interface Change {
  text: Prose;
  asked: Asked;
  quantization: ChosenQuantization;
}

export interface MemoryPlannerOptions extends Omit<SearchOptions, 'openPaper'> {
  /** Whether an option says how many images are drawn at once. */
  isBatchFixed: boolean;
  /** Changes with which a request may fit that does not, in the order in which they are tried. */
  changes: readonly Change[];
  openPaper(memoryBudget: number, quantization: ChosenQuantization): Promise<OpenedPipeline>;
}

/** Tokens by which prompts differ in length before a request is planned anew; a third of the words of one window of CLIP. */
const TOKEN_STEP = 25;
/** Most plans that are kept: sizes, lengths of prompts and settings of recent requests. */
const MOST_PLANS = 256;

type PlannedPipeline = Pick<OpenedPipeline, 'device' | 'components' | 'context'>;

export class MemoryPlanner implements ImageMemory {
  readonly #opened: PlannedPipeline;
  readonly #options: MemoryPlannerOptions;
  readonly #search: ResidencySearch;
  readonly #plans = new LRUCache<string, PlannedResults>({ max: MOST_PLANS });

  constructor(opened: PlannedPipeline, options: MemoryPlannerOptions) {
    this.#opened = opened;
    this.#options = options;
    this.#search = this.#searchIn(opened.components.quantization);
  }

  /** Moves the weights to where the plan of a request has them. Throws out_of_memory with the smallest change that fits. */
  async apply(resolved: Resolved): Promise<number> {
    const { components, device } = this.#opened;
    const { batch: most = 1, event } = resolved;
    // A long clip and a large result may take far more than weights.
    const isSpacious = event.values.frames > 1 || event.values.upscalingScale !== null;
    const isSmall = components.isSmall && this.#options.asked.size === 0 && !isSpacious;
    if (isSmall && (most === 1 || this.#options.isBatchFixed)) return most;
    const { residencies, prefetch, batch } = await this.#planned(resolved);
    if (isSmall) return batch;
    components.reside(residencies);
    device.prefetch = prefetch;
    return batch;
  }

  /** Returns the plan of a request. Throws like `apply`. */
  async plan(resolved: Resolved): Promise<ImageMemoryPlan> {
    const { residencies, measured, prefetch, batch } = await this.#planned(resolved);
    const { components: opened, device } = this.#opened;
    const components = [...measured.weights].map(([name, bytes]): PlacedComponent => {
      const residency = residencies.get(name)!;
      return {
        name,
        className: opened.get(name).className,
        role: this.#options.roles.get(name)!,
        weights: bytes.all,
        place: placeOf(residency),
        ...(residency.kind === 'streamed' && { onDevice: bytes.onDevice, fromFile: bytes.inFile }),
      };
    });
    return {
      budget: device.memoryBudget,
      batch,
      peak: measured.peak,
      host: measured.host,
      stages: [...measured.stages].map(([name, bytes]) => ({ name, bytes })),
      components,
      prefetch: components.some(({ place }) => place === 'streamed') ? prefetch : null,
    };
  }

  async #planned(resolved: Resolved): Promise<PlannedResults> {
    const key = planKey(resolved, await this.#lengths(resolved));
    const known = this.#plans.get(key);
    if (known) return known;
    const { device } = this.#opened;
    if (device.mayGrow) await this.#grow(resolved);
    const { batch: most = 1 } = resolved;
    const batch = this.#options.isBatchFixed ? most : 1;
    const first = { ...resolved, batch };
    const found = await this.#search.within(device.memoryBudget, first);
    if (!found) throw await this.#refusal(first);
    const planned = await this.#search.batched(device.memoryBudget, resolved, { ...found, batch });
    this.#plans.set(key, planned);
    return planned;
  }

  /** Steps of tokens of the prompts for each tokenizer, and the number of windows that they begin themselves. */
  async #lengths({ request, event }: Resolved): Promise<number[]> {
    const { components } = this.#opened;
    const texts = [request.prompt, event.values.negativePrompt];
    const lengths = texts.map((text) => text.split(/\bBREAK\b/).length);
    for (const name of components.tokenizerNames) {
      const tokenizer = await components.tokenizer(name);
      for (const text of texts) {
        const { length } = tokenizer.encode(text, { addSpecialTokens: false });
        lengths.push(Math.ceil(length / TOKEN_STEP));
      }
    }
    return lengths;
  }

  /** Raises an estimated budget to what all weights take together, or else to what they take one after another. */
  async #grow(resolved: Resolved): Promise<void> {
    const { device } = this.#opened;
    if (await device.reserve((await this.#search.unlimited(resolved, [])).peak)) return;
    await device.reserve((await this.#search.apart(resolved)).peak);
  }

  async #refusal(resolved: Resolved): Promise<EngineError> {
    const { memoryBudget, host } = this.#opened.device;
    const { width, height, frames } = resolved.event.values;
    const least = await this.#search.least(resolved);
    const inHost = (await this.#search.apart(resolved)).host;
    const isHost = least <= memoryBudget && inHost > host.budget;
    const larger = isHost
      ? say`close other programs`
      : say`raise ${option('memoryBudget')} to ${Math.ceil(least / 2 ** 20)}MiB`;
    const changes = [
      await this.#withoutUpscaling(resolved),
      frames > 1 ? await this.#smallerClip(resolved) : null,
      await this.#smallerChange(resolved),
    ].flatMap((change) => change ?? []);
    const remedy = changes.reduceRight<Prose>((rest, change) => say`${change}, or ${rest}`, larger);
    const needs = isHost
      ? say`takes ${bytesText(inHost)} of host memory for weights, of which ${bytesText(host.budget)} are free`
      : say`takes at least ${bytesText(least)}, the memory budget is ${bytesText(memoryBudget)}`;
    return new EngineError(
      'out_of_memory',
      say`${frames > 1 ? `a clip of ${frames} frames` : 'an image'} of ${width} × ${height} pixels ${needs}: ${remedy}`,
      isHost ? {} : { param: 'memoryBudget' },
    );
  }

  /** Returns the change that a result which fits is not enlarged; null: it is not, or does not fit. */
  async #withoutUpscaling(resolved: Resolved): Promise<Prose | null> {
    if (resolved.event.values.upscalingScale === null) return null;
    const event = { ...resolved.event, values: { ...resolved.event.values, upscalingScale: null } };
    const found = await this.#search.within(this.#opened.device.memoryBudget, { ...resolved, event });
    return found && say`leave out ${field('enableUpscaling')}`;
  }

  /** Returns the longest clip of the size that fits the budget, or else the largest of the length; null: none does. */
  async #smallerClip(resolved: Resolved): Promise<Prose | null> {
    const { device, context } = this.#opened;
    const { memoryBudget } = device;
    const fits = async (values: Partial<ResolvedImageRequest>): Promise<boolean> => {
      const event = { ...resolved.event, values: { ...resolved.event.values, ...values } };
      return (await this.#search.within(memoryBudget, { ...resolved, event })) !== null;
    };
    return smallerClip(resolved.event.values, context, fits);
  }

  /** Returns the first change with which the request fits the budget; null: none was found. */
  #smallerChange(resolved: Resolved): Promise<Prose | null> {
    const { memoryBudget } = this.#opened.device;
    return firstFitting(this.#options.changes, async ({ text, asked, quantization }) => {
      const found = this.#searchIn(quantization, asked).within(memoryBudget, resolved);
      return (await found.catch(ifUnsupported)) && text;
    });
  }

  #searchIn(quantization: ChosenQuantization, asked: Asked = this.#options): ResidencySearch {
    const { roles, openPaper } = this.#options;
    const { asked: residencies, mayStream = true, prefetch } = asked;
    return new ResidencySearch({
      ...{ roles, asked: residencies, mayStream, prefetch },
      openPaper: (memoryBudget) => openPaper(memoryBudget, quantization),
    });
  }
}

/** Weights in codes are not quantized again. */
function ifUnsupported(error: unknown): null {
  if (error instanceof EngineError && error.code === 'unsupported') return null;
  throw error;
}

function placeOf(residency: Residency): PlacedComponent['place'] {
  if (residency.kind !== 'staged') return residency.kind;
  return residency.kept ? 'offloaded' : 'loaded';
}
