import { useEffect, useRef, useState } from 'preact/hooks';
import { TOKEN } from '../strings.ts';

type TokenViewProps = {
  /** Whether the proxy has not answered yet. */
  readonly checking: boolean;
  readonly refused: boolean;
  readonly enter: (token: string) => void;
};

/** Asks for the token of the Admin API. */
export function TokenView({ checking, refused, enter }: TokenViewProps) {
  const [token, setToken] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (refused) setToken('');
    field.current?.focus();
  }, [refused]);
  return (
    <main class="token">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== '') enter(token.trim());
        }}
      >
        <h1>{TOKEN.title}</h1>
        <p>{TOKEN.explanation}</p>
        <label for="token">{TOKEN.label}</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          required
          ref={field}
          value={token}
          aria-describedby="token-hint"
          aria-invalid={refused}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        <p class="note" id="token-hint">
          {TOKEN.hint}
        </p>
        {refused && (
          <p role="alert" class="poor-text">
            {TOKEN.refused}
          </p>
        )}
        <p role="status" class="dim" hidden={!checking}>
          {checking && TOKEN.checking}
        </p>
        <button type="submit">{TOKEN.submit}</button>
      </form>
    </main>
  );
}
