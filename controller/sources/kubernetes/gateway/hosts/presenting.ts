import { covers } from '../../../../../shared/certificates/certificate-names.ts';
import { DEFAULT_HTTPS_PORT } from '../../../../../shared/settings.ts';
import type { BoundListener } from '../listeners.ts';
import type { Hostname } from './hostnames.ts';

/**
 * A host has one certificate, however many ports it is served on: the usual one decides, among those whose certificates are for the host.
 */
export function presentingAmong(name: Hostname, listeners: readonly BoundListener[]): BoundListener | null {
  const able = listeners.filter(({ listener, secrets }) => listener.hostname !== null && secrets.length > 0);
  const covering = able.filter((bound) => isCertifiedFor(bound, name));
  return usualOf(covering.length > 0 ? covering : able);
}

/** Whether a listener with a host has a certificate that is for a name below it. */
export const isCertifiedFor = ({ listener, certified }: BoundListener, name: Hostname): boolean =>
  listener.hostname !== null && name !== null && covers(certified, name);

/** That on the usual port, or else the first one. */
export const usualOf = (listeners: readonly BoundListener[]): BoundListener | null =>
  listeners.find(({ listener }) => listener.port === DEFAULT_HTTPS_PORT) ?? listeners[0] ?? null;
