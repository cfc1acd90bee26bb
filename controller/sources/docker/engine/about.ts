import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type Dockerode from 'dockerode';

/** What an engine says of itself. */
export type About = {
  readonly ApiVersion?: unknown;
  readonly MinAPIVersion?: unknown;
  /** Its clock as it responded (ms since 1970), which may differ from ours; null if it did not say. */
  readonly at: number | null;
};

/** The client's own method for this does not give the headers of the response. */
export async function askAbout(docker: Dockerode): Promise<About> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    docker.modem.dial(
      { path: '/version', method: 'GET', isStream: true, statusCodes: { 200: true, 500: 'server error' } },
      (error, result) => (error ? reject(error) : resolve(result as IncomingMessage)),
    ),
  );
  const at = Date.parse(response.headers.date ?? '');
  return { ...objectIn(await text(response)), at: Number.isNaN(at) ? null : at };
}

/** Another server may answer with anything. */
function objectIn(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
