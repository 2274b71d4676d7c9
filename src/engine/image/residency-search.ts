// Searches where the weights of a pipeline have to be for an image to fit a budget: as many components as possible stay on the device.
// Each candidate is drawn on a device that computes nothing.

import { LRUCache } from 'lru-cache';
import { ROLES, type MemoryRole, type StageName } from './calls/memory-plan.ts';
import { firstFitting, withinBudget } from '../plan/first-fitting.ts';
import { measure, type Measured } from './paper-drawing.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import { RESIDENT, STAGED, type Residencies, type Residency } from './components/residency.ts';
import type { Resolved } from './stages/resolved.ts';

export interface SearchOptions {
  roles: ReadonlyMap<string, MemoryRole>;
  /** Residencies that options ask for. */
  asked: Residencies;
  /** Whether the denoiser may be streamed; left out: it may. */
  mayStream?: boolean;
  /** Units of a tape by which copies precede their use. */
  prefetch: number;
  /** Opens the pipeline on a device that computes nothing, within a budget of bytes. */
  openPaper(memoryBudget: number): Promise<OpenedPipeline>;
}

interface Candidate {
  residencies: Residencies;
  prefetch: number;
}

export interface Found extends Candidate {
  measured: Measured;
}

/** A plan, and the results that are drawn at once. */
export type PlannedResults = Found & { batch: number };

/** Stages whose weights may be streamed, with the role of their components. */
const STREAMED: readonly (readonly [StageName, MemoryRole])[] = [
  ['text-encoding', 'text encoder'],
  ['denoising', 'denoiser'],
];
/** Stages that compute in strips what they cannot compute whole. */
const IN_STRIPS: ReadonlySet<StageName> = new Set(['decoding', 'upscaling']);
/** The budget of devices on which everything is measured that does not fit others. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** Share by which the part of a streamed component that stays is lowered, and the number of attempts. */
const STEP = 1 / 4;
const TRIALS = 4;

/** Most budgets whose devices are kept: that of the model, the unlimited one, and those of trials. */
const MOST_PAPERS = 4;

export class ResidencySearch {
  readonly #options: SearchOptions;
  readonly #papers = new LRUCache<number, Promise<OpenedPipeline>>({ max: MOST_PAPERS });
  readonly #apart = new WeakMap<Resolved, Promise<Measured>>();

  constructor(options: SearchOptions) {
    this.#options = options;
  }

  /** Returns the pipeline on a device that computes nothing. */
  paper(memoryBudget = UNLIMITED): Promise<OpenedPipeline> {
    const known = this.#papers.get(memoryBudget);
    if (known) return known;
    const paper = this.#options.openPaper(memoryBudget);
    this.#papers.set(memoryBudget, paper);
    paper.catch(() => this.#papers.delete(memoryBudget)); // another attempt may read what this one could not
    return paper;
  }

  /** Returns the first candidate that fits; null: none does. */
  within(memoryBudget: number, resolved: Resolved): Promise<Found | null> {
    return firstFitting(this.#candidates(memoryBudget, resolved), (candidate) =>
      this.fits(memoryBudget, resolved, candidate),
    );
  }

  /** Measures with weights in given places; null: that does not fit. */
  async fits(
    memoryBudget: number,
    resolved: Resolved,
    { residencies, prefetch }: Candidate,
  ): Promise<Found | null> {
    const paper = await this.paper(memoryBudget);
    const measured = await withinBudget(() => measure(paper, resolved, residencies, prefetch));
    return measured && { residencies, prefetch, measured };
  }

  /** The plan with as many results at once, up to those of the request, as memory takes without weights that leave the device for them. */
  async batched(memoryBudget: number, resolved: Resolved, single: PlannedResults): Promise<PlannedResults> {
    for (let batch = resolved.batch ?? 1; batch > single.batch; batch = Math.ceil(batch / 2)) {
      const found = await this.fits(memoryBudget, { ...resolved, batch }, single);
      if (found) return { ...found, batch };
    }
    return single;
  }

  /** Measures with all that may leave the device between stages, or else with all on it. */
  async unlimited(resolved: Resolved, leaving: readonly MemoryRole[]): Promise<Measured> {
    return measure(await this.paper(), resolved, this.#leaving(leaving), this.#options.prefetch);
  }

  /** Measures with all that may leave the device between stages, once for a request. */
  apart(resolved: Resolved): Promise<Measured> {
    const measured = this.#apart.get(resolved) ?? this.unlimited(resolved, ROLES);
    this.#apart.set(resolved, measured);
    return measured;
  }

  /** Approximately the smallest budget within which an image fits. */
  async least(resolved: Resolved): Promise<number> {
    const stages = await this.leastStages(resolved);
    const peaks = [...stages.values()];
    // Strips may fit where whole images do not.
    const others = [...stages].filter(([name]) => !IN_STRIPS.has(name)).map(([, bytes]) => bytes);
    const tiled = Math.max(...others);
    return (await this.within(tiled, resolved)) ? tiled : Math.max(...peaks);
  }

  /** The least memory of each stage: components leave the device between stages, or are streamed. */
  async leastStages(resolved: Resolved): Promise<Map<StageName, number>> {
    const { stages } = await this.apart(resolved);
    const free = STREAMED.filter(([, role]) => this.#isFree(role));
    const streamed = this.#streamed(free.map(([, role]) => [role, 0]));
    const least = await measure(await this.paper(), resolved, streamed, 0);
    return new Map(
      [...stages].map(([name, bytes]) => [name, Math.min(bytes, least.stages.get(name) ?? bytes)]),
    );
  }

  /** Ever more components leave the device between stages; last those of the stages that do not fit are streamed, as much of them as fits. */
  async *#candidates(memoryBudget: number, resolved: Resolved): AsyncGenerator<Candidate> {
    const { prefetch: asked } = this.#options;
    const own = new Set(this.#options.roles.values());
    const roles = ROLES.filter((role) => own.has(role));
    for (let count = 0; count <= roles.length; count++)
      yield { residencies: this.#leaving(roles.slice(0, count)), prefetch: asked };
    const { stages } = await this.apart(resolved);
    const exceeding = STREAMED.filter(([stage, role]) => {
      return (stages.get(stage) ?? 0) > memoryBudget && this.#isFree(role);
    });
    if (exceeding.length === 0) return;
    const none = this.#streamed(exceeding.map(([, role]) => [role, 0]));
    for (const prefetch of new Set([asked, 0])) {
      const least = await measure(await this.paper(), resolved, none, prefetch);
      const rooms = exceeding.map(([stage, role]) => {
        return [role, memoryBudget - (least.stages.get(stage) ?? 0)] as const;
      });
      if (rooms.some(([, room]) => room < 0)) continue;
      for (let trial = 0; trial <= TRIALS; trial++) {
        const share = Math.max(0, 1 - trial * STEP);
        const residencies = this.#streamed(rooms.map(([role, room]) => [role, Math.floor(share * room)]));
        yield { residencies, prefetch };
      }
    }
  }

  /** Components of these roles leave the device between stages, and others stay, where no option asks otherwise. */
  #leaving(roles: readonly MemoryRole[]): Residencies {
    return this.#residencies((role) => (roles.includes(role) ? STAGED : RESIDENT));
  }

  /** All components leave the device between stages, and those of some roles are streamed, with these bytes on the device. */
  #streamed(rooms: readonly (readonly [MemoryRole, number])[]): Residencies {
    const bytesOf = new Map(rooms);
    return this.#residencies((role) => {
      const bytes = bytesOf.get(role);
      return bytes === undefined ? STAGED : { kind: 'streamed', resident: { bytes } };
    });
  }

  #residencies(of: (role: MemoryRole) => Residency): Residencies {
    const { roles, asked } = this.#options;
    return new Map([...roles].map(([name, role]) => [name, asked.get(name) ?? of(role)]));
  }

  /** Whether no option says where components of a role are, and they may be streamed. */
  #isFree(role: MemoryRole): boolean {
    const { roles, asked, mayStream = true } = this.#options;
    if (role === 'denoiser' && !mayStream) return false;
    return [...roles].some(([name, own]) => own === role && !asked.has(name));
  }
}
