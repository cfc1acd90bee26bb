import { isIP } from 'node:net';

/** Whether a host, without brackets, is this machine regardless of DNS: `localhost`, 127.0.0.0/8 or `::1`. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
