// The profile of an adapter with the kernels that a model asks for.

import { type EngineError, unsupported } from '../files/error.ts';
import { option, say, type Message } from '../files/message.ts';
import type { AdapterSummary } from './adapter.ts';
import { profileOf, withOnePhase, type ActivationDtype, type AdapterProfile } from './adapter-profile.ts';
import { DOT_FEATURE } from './capabilities.ts';

/** Settings of a model that choose kernels. */
export interface KernelChoices {
  /** Rows of prompts and rows after them sum in the same order. */
  deterministic?: boolean;
  /** See AdapterProfile. */
  activationDtype?: ActivationDtype;
}

/** Errors: unsupported for kernels that the adapter does not have. */
export function chosenProfile(summary: AdapterSummary, choices: KernelChoices): AdapterProfile {
  return withChoices(profileOf(summary), choices);
}

export function withChoices(
  profile: AdapterProfile,
  { deterministic = false, activationDtype: activations = 'float' }: KernelChoices,
): AdapterProfile {
  if (activations === 'int8' && profile.matvecRows === null)
    throw refused(say`is for GPUs, and this adapter is a software adapter`);
  return { ...(deterministic ? withOnePhase(profile) : profile), activations };
}

/** Throws unsupported for kernels that the adapter or its WebGPU does not have. `languageFeatures`: those of its WGSL. */
export function checkChoices(
  summary: AdapterSummary,
  choices: KernelChoices,
  languageFeatures: ReadonlySet<string>,
): void {
  const { activations } = chosenProfile(summary, choices);
  if (activations === 'int8' && !languageFeatures.has(DOT_FEATURE))
    throw refused(say`needs the WGSL language feature ${DOT_FEATURE}, which this WebGPU lacks`);
}

function refused(why: Message): EngineError {
  const message = say`${option('activationDtype')} int8 ${why}: leave it out`;
  return unsupported(message, 'activationDtype');
}
