// Lists: exactly two runs are compared. Without this script the site says so when the form is sent.
"use strict";
(() => {
  const form = document.getElementById("comparison");
  if (!form) return;
  const button = form.querySelector("button");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  const update = () => {
    button.disabled = boxes.filter((box) => box.checked).length !== 2;
  };
  form.addEventListener("change", update);
  addEventListener("pageshow", update);
  update();
})();
