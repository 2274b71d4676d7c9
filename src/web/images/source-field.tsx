// The image that a request starts from, and those of ControlNets: chosen, dropped or pasted.

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { modelFields, sentSources, sources } from './form-state.ts';
import { MaskEditor } from './mask-editor.tsx';
import { SettingField } from './setting-field.tsx';

/** Takes the first image of a drop, a paste or a file field; the mask belongs to the image before it. */
function takeImage(files: FileList | null | undefined): boolean {
  const image = imageIn(files);
  if (!image) return false;
  sources.value = { ...sources.value, image, mask: undefined };
  return true;
}

const imageIn = (files: FileList | null | undefined): File | undefined =>
  [...(files ?? [])].find(({ type }) => type.startsWith('image/'));

export function SourceFields() {
  const fields = modelFields.value;
  const takesImage = fields?.takesImage ?? false;
  useEffect(() => {
    if (!takesImage) return;
    const paste = (event: ClipboardEvent): void => {
      if (takeImage(event.clipboardData?.files)) event.preventDefault();
    };
    document.addEventListener('paste', paste);
    return () => document.removeEventListener('paste', paste);
  }, [takesImage]);
  if (!fields) return null;
  const { image } = sentSources.value;
  return (
    <>
      {takesImage && (
        <ImageField
          label="Start from an image"
          hint="Choose, drop or paste one."
          image={image}
          onImage={(one) => {
            sources.value = { ...sources.value, image: one, mask: undefined };
          }}
        >
          {image && fields.strength && <SettingField field={fields.strength} />}
          {image && fields.takesMask && <MaskField image={image} />}
        </ImageField>
      )}
      {Array.from({ length: fields.controls }, (_, at) => (
        <ControlField key={at} at={at} of={fields.controls} />
      ))}
      {sentSources.value.controls && (
        <div class="fields">
          {fields.control.map((field) => (
            <SettingField key={field.name} field={field} />
          ))}
        </div>
      )}
    </>
  );
}

/** Shown at once where a mask was painted before; clearing the mask does not hide it. */
function MaskField({ image }: { image: Blob }) {
  const [isOpen] = useState(sentSources.value.mask !== undefined);
  return (
    <details open={isOpen}>
      <summary>Paint what is drawn anew</summary>
      <MaskEditor image={image} />
    </details>
  );
}

/** ControlNets take their images in order, so that one can be given once those before it are. */
function ControlField({ at, of }: { at: number; of: number }) {
  const given = sources.value.controls ?? [];
  if (at > given.length) return null;
  return (
    <ImageField
      label={of === 1 ? 'Image for the ControlNet' : `Image for ControlNet ${at + 1}`}
      hint="Its lines or depths steer the result."
      image={given[at]}
      onImage={(image) => {
        const after = image ? [image, ...given.slice(at + 1)] : [];
        sources.value = { ...sources.value, controls: [...given.slice(0, at), ...after] };
      }}
    />
  );
}

interface ImageFieldProps {
  label: string;
  hint: string;
  image: Blob | undefined;
  onImage(image: Blob | undefined): void;
  children?: ComponentChildren;
}

function ImageField({ label, hint, image, onImage, children }: ImageFieldProps) {
  const [url, setUrl] = useState('');
  useEffect(() => {
    if (!image) return setUrl('');
    const made = URL.createObjectURL(image);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [image]);
  return (
    <fieldset
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const dropped = imageIn(event.dataTransfer?.files);
        if (dropped) onImage(dropped);
      }}
    >
      <legend>{label}</legend>
      <input
        type="file"
        autocomplete="off"
        accept="image/png,image/jpeg,image/webp,image/bmp"
        aria-label={label}
        onChange={({ currentTarget }) => {
          const chosen = imageIn(currentTarget.files);
          if (chosen) onImage(chosen);
          // The same file can be chosen again after it was removed.
          currentTarget.value = '';
        }}
      />
      <span class="muted">{hint}</span>
      {url !== '' && (
        <div class="source">
          <img src={url} alt={`${label}: the chosen image`} />
          <button type="button" onClick={() => onImage(undefined)}>
            Remove
          </button>
        </div>
      )}
      {children}
    </fieldset>
  );
}
