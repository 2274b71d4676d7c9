// A field of the form, by the kind of its setting.

import { drawingProblem } from './drawings.ts';
import { changeField, form } from './form-state.ts';
import type { FormField } from './settings.ts';

export function SettingField({ field }: { field: FormField }) {
  const { name, label, help, kind } = field;
  if (kind.type !== 'boolean')
    return (
      <label class={name === 'negative_prompt' ? 'wide' : undefined}>
        {label}
        <Control field={field} />
      </label>
    );
  return (
    <label class="switch" title={help}>
      <input
        type="checkbox"
        checked={form.value.fields[name] === true}
        onChange={({ currentTarget }) => changeField(name, currentTarget.checked)}
      />
      {label}
    </label>
  );
}

function Control({ field }: { field: FormField }) {
  const { name, help, kind, otherwise, min, max, step } = field;
  const common = {
    name,
    title: help,
    value: String(form.value.fields[name] ?? ''),
    ...faultOf(name),
  };
  const onInput = ({ currentTarget }: { currentTarget: { value: string } }): void =>
    changeField(name, currentTarget.value);
  if (kind.type === 'choice')
    return (
      <select {...common} onChange={onInput}>
        <option value="">{otherwise === '' ? "The model's own" : `${otherwise} (default)`}</option>
        {kind.choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  if (name === 'negative_prompt')
    return <textarea {...common} rows={2} placeholder={otherwise} onInput={onInput} />;
  if (kind.type === 'number' || kind.type === 'integer')
    return (
      <input type="number" {...common} {...{ min, max, step, placeholder: otherwise }} onInput={onInput} />
    );
  return (
    <input
      type="text"
      {...common}
      placeholder={otherwise}
      pattern={
        kind.type === 'list' && kind.of.type === 'number'
          ? String.raw`\s*-?[\d.]+(\s*,\s*-?[\d.]+)*\s*`
          : undefined
      }
      onInput={onInput}
    />
  );
}

/** Marks the field that the server's last refusal names. */
export function faultOf(name: string): { 'aria-invalid'?: 'true'; 'aria-describedby'?: string } {
  const isFault = drawingProblem.value?.param === name;
  return isFault ? { 'aria-invalid': 'true', 'aria-describedby': 'image-problem' } : {};
}
