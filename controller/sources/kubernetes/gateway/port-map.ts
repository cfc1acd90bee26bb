/** Which port of the data plane connections to a port of a listener arrive at. A process without root can't open all of them itself. */
export type PortMap = ReadonlyMap<number, number>;

export const mapPort = (map: PortMap, port: number): number => map.get(port) ?? port;
