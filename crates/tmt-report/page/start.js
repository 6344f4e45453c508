// Shows what needs script, and hides the static pictures, which print.

if (typeof Chart === "function" && data && data.kind) {
  for (const id of ["controls", "charts", "table-tools"]) byId(id).hidden = false;
  ({ study, run })[data.kind]();
  // On a narrow screen the controls would fill it before the first chart.
  byId("choice").open = matchMedia("(min-width: 48rem)").matches;
  byId("pictures").hidden = true;
  const size = () => linked.forEach((chart) => chart.resize());
  addEventListener("afterprint", size);
}
