// A model of any kind as a plan opens it: on devices that compute nothing, with weights that are not read.

import type { Prose } from '../../files/message.ts';
import type { OpenFolder } from '../../files/pipeline/pipeline-weights.ts';
import type { Device } from '../../gpu/device.ts';
import type { ModelPlan, PlannedChoice, PlannedQuantization, PlanOptions } from './model-plan.ts';

/** The platform as planning needs it: folders, and a device without a GPU. */
export interface PlanPlace {
  /** A folder by the model's path or by one below it. */
  openFolder: OpenFolder;
  /** A device that computes nothing, with the properties of the adapter that models are opened on. */
  openDevice(memoryBudget: number): Device;
  /** Bytes of memory that this machine has: a larger budget is suggested only where no smaller change is enough. */
  memory: number;
  /** Files are read over a network, so that stored tensors are compared by their first rows alone. */
  isRemote?: boolean;
  /** Folders hold configurations and indexes alone: shapes of weights follow from what the model's page asks for. */
  configsOnly?: boolean;
}

/** Settings that a model is opened with. */
export interface PaperSettings {
  quantization: PlannedQuantization;
  /** Tokens of context asked for; null: the model has no context. */
  contextLength: number | null;
  /** Whether layers may be in host memory. */
  layerwiseOffload?: boolean;
  /** Whether the experts of all layers are in host memory. */
  cpuMoe?: boolean;
}

/** Memory that a model takes once it is open. */
export interface PaperOpening {
  /** Bytes of weights. */
  weights: number;
  /** Bytes of everything but weights and KV cache. */
  scratch: number;
  /** Bytes in total, with the KV cache. */
  bytes: number;
  /** Tokens of context that fit; null: the model has no context. */
  contextLength: number | null;
}

export interface PaperModel {
  /** The quantizations that can be chosen, most bits first. */
  readonly quantizations: readonly PlannedQuantization[];
  /** Tokens of context asked for; null: the model has no context. */
  readonly contextLength: number | null;
  /** Whether layers may be in host memory and are not yet; left out: they may not. */
  readonly mayStream?: boolean;
  /** Whether the model has experts that may be in host memory and are not yet; left out: it has none. */
  readonly mayHostExperts?: boolean;
  /** Opens the model within a budget. Throws out_of_memory. */
  open(memoryBudget: number, settings: PaperSettings): Promise<PaperOpening>;
  /** Opens the model with the least memory that it takes; left out: `open` without a limit of memory does. */
  unlimited?(settings: PaperSettings): Promise<PaperOpening>;
  /** Approximately the smallest budget in bytes within which the model opens; left out: the bytes of `unlimited`. */
  least?(settings: PaperSettings): Promise<number>;
}

/** A model whose files are read as far as a plan needs them. */
export interface PlannedFiles {
  model: PaperModel;
  /** Returns the quantization that opening chooses. Throws out_of_memory where `auto` finds none that has room. */
  choose(): Promise<PlannedQuantization>;
  /** Describes the model after its openings. `asked`: the choice that was asked for; undefined: `auto` found none. */
  describe(asked: PlannedChoice | undefined): DescribedModel;
}

/** The part of a plan that the files of a model determine. */
export type DescribedModel = Pick<ModelPlan, 'kind' | 'architecture' | 'parameters' | 'stored' | 'ignored'> &
  Partial<Pick<ModelPlan, 'wrapper' | 'media' | 'contextLength' | 'cache' | 'components'>>;

/**
 * Reads the files of a model of a kind by its path. Throws what opening the model throws about them, and bad_request for options that this kind does
 * not have. `onNote` is called meanwhile, and later with the notes of `choose` and `describe`.
 */
export type OpenOnPaper = (
  path: string,
  options: BudgetedOptions,
  place: PlanPlace,
  onNote: (message: Prose) => void,
) => Promise<PlannedFiles>;

export type BudgetedOptions = PlanOptions & { memoryBudget: number };
