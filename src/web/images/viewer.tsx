// An entry of the gallery in full size, with its configuration and what can be done with it.

import { useEffect, useRef, useState } from 'preact/hooks';
import { textOf } from './configuration.ts';
import { draw } from './drawings.ts';
import { fillFrom, modelFields, sources } from './form-state.ts';
import { downloadEntry, exportConfiguration, found, isPicture, opened, urlOf } from './gallery-state.ts';
import { askAndDelete } from './gallery.tsx';
import type { Entry } from './storage.ts';

export function Viewer() {
  const dialog = useRef<HTMLDialogElement>(null);
  const at = found.value.findIndex(({ id }) => id === opened.value);
  const entry = found.value[at];
  const isOpen = entry !== undefined;
  useEffect(() => {
    if (isOpen) dialog.current!.showModal();
    else dialog.current!.close();
  }, [isOpen]);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined || event.target instanceof HTMLVideoElement) return;
    opened.value = found.value[at + step]?.id ?? opened.value;
  };
  return (
    <dialog
      ref={dialog}
      class="viewer"
      aria-label="Image in full size"
      onKeyDown={move}
      onClose={() => {
        opened.value = null;
      }}
    >
      {entry && <Shown entry={entry} />}
    </dialog>
  );
}

function Shown({ entry }: { entry: Entry }) {
  const { configuration, sources: images, seed } = entry;
  const { prompt } = configuration;
  return (
    <>
      {isPicture(entry) ? (
        <Picture url={urlOf(entry)} text={prompt || `Without a prompt, seed ${seed}`} />
      ) : (
        <video src={urlOf(entry)} aria-label={`Video: ${prompt}`} controls loop playsInline />
      )}
      <Actions entry={entry} />
      <dl>
        {Object.entries({ ...configuration, size: entry.size }).map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd>{textOf(value)}</dd>
          </div>
        ))}
        {images.image && (
          <div>
            <dt>source</dt>
            <dd>{images.mask ? 'an image with a mask' : 'an image'}</dd>
          </div>
        )}
      </dl>
    </>
  );
}

/** An image that fits the window, or pixel for pixel. */
function Picture({ url, text }: { url: string; text: string }) {
  const [isActual, setIsActual] = useState(false);
  return (
    <>
      <img src={url} alt={text} class={isActual ? 'actual' : undefined} />
      <label class="switch">
        <input
          type="checkbox"
          checked={isActual}
          onChange={({ currentTarget }) => setIsActual(currentTarget.checked)}
        />
        Actual size
      </label>
    </>
  );
}

function Actions({ entry }: { entry: Entry }) {
  const { kind, configuration, sources: images } = entry;
  const close = (): void => {
    opened.value = null;
  };
  const again = (changed: typeof configuration): void => {
    close();
    void draw(kind, changed, images);
  };
  const { seed: _seed, ...unseeded } = configuration;
  const takesImage = kind === 'image' && modelFields.value?.takesImage;
  const actions: [name: string, act: () => void][] = [
    ['Repeat', () => again(configuration)],
    ['Vary', () => again({ ...unseeded, model: configuration.model, prompt: configuration.prompt })],
    [
      'Use its settings',
      () => {
        fillFrom(entry);
        close();
      },
    ],
    ...(takesImage
      ? [
          [
            'Use this image',
            () => {
              sources.value = { image: entry.content };
              close();
            },
          ] as [string, () => void],
        ]
      : []),
    ['Download', () => downloadEntry(entry)],
    ['Export configuration', () => exportConfiguration(entry)],
    ['Delete', () => void askAndDelete(entry)],
    ['Close', close],
  ];
  return (
    <div class="buttons">
      {actions.map(([name, act]) => (
        <button key={name} type="button" onClick={act}>
          {name}
        </button>
      ))}
    </div>
  );
}
