// Progress of a download, an opening model or an image: a bar on a terminal, otherwise a log line at every tenth.

import { bytesText } from '../../files/bytes-text.ts';
import type { ConsolaInstance } from 'consola';
import type { HubEvent, OpenEvent } from '../../index.ts';
import { noteText } from './said.ts';
import { countText } from '../../files/count-text.ts';
import { setBar } from './terminal.ts';

export interface Step {
  /** Steps with the same label share one bar. */
  label: string;
  done: number;
  total: number;
  unit: 'bytes' | 'count' | 'steps';
  /** No line is logged if the work ends within LINE_PAUSE. */
  minor?: boolean;
  /** Seconds per step. */
  pace?: number;
}

const BAR_WIDTH = 24;
/** Milliseconds before the first line, and between two lines, of downloads and preparations. */
const LINE_PAUSE = 2000;

/** Shows the steps of one start or download; `end` removes the bar. */
export function createProgress(log: ConsolaInstance) {
  let label = '';
  let tenth = -1;
  let saidAt = 0;
  const show = (step: Step) => {
    if (process.stderr.isTTY) {
      setBar(barText(step));
      return;
    }
    const reached = step.total > 0 ? Math.floor((10 * step.done) / step.total) : 0;
    if (step.label !== label || step.done === 0) {
      label = step.label;
      tenth = -1;
      saidAt = performance.now();
    }
    // A step that ends soon is reported once, at its end.
    const isSoon = step.unit !== 'steps' && performance.now() - saidAt < LINE_PAUSE;
    if (reached <= tenth || (isSoon && (reached < 10 || step.minor))) return;
    tenth = reached;
    saidAt = performance.now();
    log.info(`${step.label}: ${amountText(step)}`);
  };
  const end = () => {
    label = '';
    setBar('');
  };
  return { show, end };
}

/** Turns the events of an opening model into bars, lines and notes. */
export function showOpening(log: ConsolaInstance) {
  const { show, end } = createProgress(log);
  let resumed = false;
  const event = (opening: OpenEvent) => {
    if (opening.type === 'note') {
      log[opening.isWarning ? 'warn' : 'info'](noteText(opening));
    } else if (opening.type === 'warmup') {
      const { done, total, stage } = opening;
      const label = stage === undefined ? 'Preparing kernels' : `Preparing kernels of ${stage}`;
      show({ label, done, total, unit: 'count', minor: stage !== undefined });
    } else if (opening.type === 'tune') {
      const { done, total, stage } = opening;
      show({ label: `Finding the fastest kernels of ${stage}`, done, total, unit: 'count' });
    } else {
      const { bytes, totalBytes } = opening;
      if (opening.type === 'download' && opening.resumedPercent !== undefined && !resumed) {
        resumed = true;
        log.info(`Going on with ${opening.file} at ${opening.resumedPercent} %.`);
      }
      const label = opening.type === 'download' ? `Downloading ${opening.file}` : 'Loading weights';
      show({ label, done: bytes, total: totalBytes, unit: 'bytes' });
    }
  };
  return { event, end };
}

/** Shows the progress of a download alone. */
export function showDownload(log: ConsolaInstance) {
  const { show, end } = createProgress(log);
  let id = '';
  const event = (hub: HubEvent) => {
    switch (hub.type) {
      case 'start':
        id = hub.id;
        log.info(
          `${hub.id} at ${hub.revision.slice(0, 12)}: ${countText(hub.files, 'file')}, ${bytesText(hub.total)}`,
        );
        break;
      case 'resume':
        log.info(`Going on at ${hub.percent} %.`);
        break;
      case 'progress':
        show({ label: `Downloading ${id}`, done: hub.received, total: hub.total, unit: 'bytes' });
        break;
      case 'retry':
        log.warn(`${hub.path}: ${hub.reason}; attempt ${hub.attempt} in ${(hub.waitMs / 1000).toFixed(1)} s`);
        break;
      case 'wait':
        log.info(`Process ${hub.pid} is fetching ${hub.path}: waiting for it.`);
        break;
      case 'chosen':
        log.info(`${hub.message}.`);
        break;
      case 'offline':
        log.warn(`The hub cannot be reached (${hub.reason}): using the copy on this machine.`);
        break;
      default:
    }
  };
  return { event, end };
}

function barText(step: Step): string {
  const share = step.total > 0 ? Math.min(1, step.done / step.total) : 0;
  const full = Math.round(BAR_WIDTH * share);
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${step.label}: ${amountText(step)}`;
}

function amountText({ done, total, unit, pace = 0 }: Step): string {
  if (unit === 'count') return `${done} of ${total}`;
  const percent = total > 0 ? Math.floor((100 * done) / total) : 0;
  if (unit === 'steps') return `step ${done}/${total} (${percent} %), ${pace.toFixed(2)} s/it`;
  return `${percent} % of ${bytesText(total)}`;
}
